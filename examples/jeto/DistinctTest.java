package words;

import static org.junit.Assert.assertEquals;

import org.junit.Test;

public class DistinctTest {
    @Test
    public void longTextsAreHandled() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 30000; i++) {
            text.append(i % 5003).append(' ');
        }
        assertEquals(5003, Words.distinct(text.toString()).size());
    }
}
