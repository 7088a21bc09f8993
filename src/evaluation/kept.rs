//! A few values by key that many threads want at about the same time: one makes a value while the others wait for it.
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The latest values.
#[derive(Debug)]
pub(super) struct Kept<T> {
    most: usize,
    slots: Mutex<VecDeque<(String, Arc<OnceLock<T>>)>>,
}

impl<T: Clone> Kept<T> {
    /// None yet, and never more than `most`.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            slots: Mutex::default(),
        }
    }

    /// The value of a key. What has been forgotten is made again, as is what has no key.
    pub(super) fn get_or_make(&self, key: &str, make: impl FnOnce() -> T) -> T {
        if key.is_empty() {
            return make();
        }
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            match slots.iter().find(|(of, _)| of == key) {
                Some((_, slot)) => Arc::clone(slot),
                None => {
                    if slots.len() >= self.most {
                        slots.pop_front();
                    }
                    let slot = Arc::default();
                    slots.push_back((key.to_owned(), Arc::clone(&slot)));
                    slot
                }
            }
        };
        slot.get_or_init(make).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn what_many_want_at_once_is_made_once_and_the_oldest_is_forgotten() {
        let kept = Kept::new(2);
        let made = AtomicUsize::new(0);
        let make = || made.fetch_add(1, Ordering::Relaxed);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(kept.get_or_make("a", make), 0));
            }
        });
        assert_eq!(
            ["b", "a", "c", "a", ""].map(|key| kept.get_or_make(key, make)),
            [1, 0, 2, 3, 4]
        );
    }
}
