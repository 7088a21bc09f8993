package words;

import static org.junit.Assert.assertEquals;

import org.junit.Test;

public class CountTest {
    @Test
    public void wordsAreCounted() {
        for (int i = 0; i < 2000; i++) {
            assertEquals(3, Words.count("one two three"));
        }
        assertEquals(0, Words.count(""));
    }
}
