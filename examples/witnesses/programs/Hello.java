// Java: started from its source by the launcher, which compiles it first.
import java.util.*;
import java.util.stream.*;

public class Hello {
    record Point(int x, int y) {}

    public static void main(String[] arguments) {
        var counts = new TreeMap<String, Integer>();
        for (var word : "the cat and the dog and the end".split(" ")) counts.merge(word, 1, Integer::sum);
        var squares = IntStream.rangeClosed(1, 10).map(i -> i * i).boxed().collect(Collectors.toList());
        System.out.println("hello from Java " + counts + " " + squares + " " + new Point(1, 2));
    }
}
