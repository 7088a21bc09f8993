// Goroutines: channels, select, mutexes, wait groups, worker pools, garbage collection.
package main

import (
	"fmt"
	"runtime"
	"sort"
	"sync"
	"time"
)

func main() {
	jobs, results := make(chan int), make(chan int, 8)
	var workers sync.WaitGroup
	for w := 0; w < 8; w++ {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for job := range jobs {
				sum := 0
				for i := 1; i <= job; i++ {
					if job%i == 0 {
						sum += i
					}
				}
				results <- sum*10000 + job
			}
		}()
	}
	go func() {
		for i := 1; i <= 200; i++ {
			jobs <- i
		}
		close(jobs)
		workers.Wait()
		close(results)
	}()
	all := []int{}
	for result := range results {
		all = append(all, result)
	}
	sort.Ints(all)
	var mutex sync.Mutex
	total := 0
	var group sync.WaitGroup
	for g := 0; g < 100; g++ {
		group.Add(1)
		go func(g int) {
			defer group.Done()
			kept := [][]byte{}
			for i := 0; i < 20; i++ {
				kept = append(kept, make([]byte, 4096))
			}
			mutex.Lock()
			total += g * len(kept)
			mutex.Unlock()
		}(g)
	}
	group.Wait()
	runtime.GC()
	timeout := "no timeout"
	select {
	case <-make(chan int):
	case <-time.After(2 * time.Millisecond):
		timeout = "timeout"
	}
	fmt.Println(len(all), all[0], all[199], total, timeout)
}
