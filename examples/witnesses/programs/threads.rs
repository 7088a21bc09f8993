// Rust threads: scoped threads, channels, mutexes, atomics, barriers.
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, RwLock, mpsc};
use std::thread;

fn main() {
    let total = AtomicU64::new(0);
    thread::scope(|scope| {
        for number in 0..6u64 {
            let total = &total;
            scope.spawn(move || {
                for i in 0..1000 {
                    total.fetch_add(number * i, Ordering::Relaxed);
                }
            });
        }
    });
    let (send, receive) = mpsc::sync_channel(4);
    let senders: Vec<_> = (0..4u64)
        .map(|number| {
            let send = send.clone();
            thread::spawn(move || (0..50).for_each(|i| send.send(number * 1000 + i).unwrap()))
        })
        .collect();
    drop(send);
    let mut received: Vec<u64> = receive.iter().collect();
    received.sort();
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    let table = Arc::new(RwLock::new(vec![0u64; 8]));
    let barrier = Arc::new(Barrier::new(3));
    let turn = Arc::new((Mutex::new(0usize), Condvar::new()));
    let workers: Vec<_> = (0..3usize)
        .map(|number| {
            let (table, barrier, turn) = (table.clone(), barrier.clone(), turn.clone());
            thread::spawn(move || {
                barrier.wait();
                let mut at = turn.0.lock().unwrap();
                while *at != number {
                    at = turn.1.wait(at).unwrap();
                }
                table.write().unwrap()[number] = (number as u64 + 1) * 11;
                *at += 1;
                turn.1.notify_all();
            })
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    let panicked = thread::Builder::new().name("doomed".into()).spawn(|| {
        std::panic::set_hook(Box::new(|_| {}));
        panic!("on purpose")
    });
    let panicked = panicked.unwrap().join().is_err();
    println!("{} {} {:?} {panicked}", total.load(Ordering::Relaxed), received.iter().sum::<u64>(), table.read().unwrap());
}
