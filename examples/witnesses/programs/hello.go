// Go: maps, slices, sorting, strings, closures, interfaces, defer and recover.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strings"
)

type shape interface{ area() float64 }
type square struct{ side float64 }
type disc struct{ radius float64 }

func (s square) area() float64 { return s.side * s.side }
func (d disc) area() float64   { return math.Pi * d.radius * d.radius }

func recovered() (text string) {
	defer func() { text = fmt.Sprint("recovered: ", recover()) }()
	var none []int
	return fmt.Sprint(none[3])
}

func main() {
	fmt.Println("hello from Go")
	values := make([]int, 2000)
	state := uint32(12345)
	for i := range values {
		state = state*1664525 + 1013904223
		values[i] = int(state >> 12)
	}
	sort.Ints(values)
	primes := 0
	sieve := make([]bool, 3000)
	for i := 2; i < len(sieve); i++ {
		if !sieve[i] {
			primes++
			for j := 2 * i; j < len(sieve); j += i {
				sieve[j] = true
			}
		}
	}
	counts := map[string]int{}
	for _, word := range strings.Fields("the cat and the dog and the end") {
		counts[word]++
	}
	words := make([]string, 0)
	for word := range counts {
		words = append(words, word)
	}
	sort.Slice(words, func(i, j int) bool { return counts[words[i]] > counts[words[j]] || counts[words[i]] == counts[words[j]] && words[i] < words[j] })
	total := 0.0
	for _, s := range []shape{square{2}, disc{1}, square{math.Sqrt2}} {
		total += s.area()
	}
	text, _ := json.Marshal(counts)
	fmt.Println(values[0], values[1999], primes, words, string(text))
	fmt.Printf("%.12f %x %s\n", total, sha256.Sum256(text), recovered())
}
