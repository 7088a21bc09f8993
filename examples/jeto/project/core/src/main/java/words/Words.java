package words;

import java.util.ArrayList;
import java.util.List;

/** Words of a text. */
public final class Words {
    private Words() {}

    /** The different words, in the order of their first use. */
    public static List<String> distinct(String text) {
        List<String> found = new ArrayList<>();
        for (String word : text.split(" ")) {
            if (!found.contains(word)) {
                found.add(word);
            }
        }
        return found;
    }

    /** The number of words. */
    public static int count(String text) {
        return text.isEmpty() ? 0 : text.split(" ").length;
    }
}
