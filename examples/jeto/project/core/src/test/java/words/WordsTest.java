package words;

import static org.junit.Assert.assertEquals;

import java.util.Arrays;
import org.junit.Test;

public class WordsTest {
    @Test
    public void firstUseDecidesTheOrder() {
        assertEquals(Arrays.asList("b", "a", "c"), Words.distinct("b a b c a"));
    }

    @Test
    public void manyWordsAreFound() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 20000; i++) {
            text.append(i * 7919 % 4001).append(' ');
        }
        assertEquals(4001, Words.distinct(text.toString()).size());
    }
}
