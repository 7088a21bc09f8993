// Go maps and sorts at some size; text building.
package main

import (
	"fmt"
	"hash/fnv"
	"sort"
	"strconv"
	"strings"
)

func main() {
	counts := map[string]int{}
	for i := 0; i < 20000; i++ {
		counts["key"+strconv.Itoa(i*i%1999)] += i
	}
	keys := make([]string, 0, len(counts))
	for key := range counts {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	var text strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&text, "%s=%d;", key, counts[key])
	}
	hash := fnv.New64a()
	hash.Write([]byte(text.String()))
	fmt.Println(len(keys), keys[0], keys[len(keys)-1], text.Len(), hash.Sum64())
}
