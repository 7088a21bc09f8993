//! The driver's messages with the instruction and the tick at which they came, as regions.
use crate::sim::outcome::{Device, Region};
use serde::Deserialize;

/// A message: instructions and ticks so far, and its bytes in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Mark(pub u64, pub u64, pub String);

/// What the messages of a run say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// The regions, in order.
    pub(super) regions: Vec<Region>,
    /// One was begun and not ended.
    pub(super) open: bool,
    /// Kind and text of the other messages.
    pub(super) others: Vec<(u8, Vec<u8>)>,
    /// Something came that the driver does not write.
    pub(super) forged: bool,
}

impl Told {
    /// Reads the messages of a run; `period` is the length of a cycle in ticks, `None` on a core without cycles.
    pub(super) fn read(marks: &[Mark], nonce: [u8; 16], period: Option<u64>) -> Self {
        let mut told = Self::default();
        let mut begun = (0, 0);
        for Mark(instructions, ticks, message) in marks {
            let genuine = bytes(message).is_some_and(|message| {
                message.get(1..17) == Some(&nonce)
                    && told.take(
                        message[0],
                        &message[17..],
                        (*instructions, *ticks),
                        &mut begun,
                        period,
                    )
            });
            if !genuine {
                told.forged = true;
                break;
            }
        }
        told
    }

    /// Takes one message in its turn; `false` when the driver cannot have written it here.
    fn take(
        &mut self,
        kind: u8,
        text: &[u8],
        now: (u64, u64),
        begun: &mut (u64, u64),
        period: Option<u64>,
    ) -> bool {
        let finished = !self.others.is_empty();
        match kind {
            Device::BEGIN if !self.open && !finished && text.is_empty() => {
                self.open = true;
                *begun = now;
            }
            Device::END if self.open && text.is_empty() => {
                let (Some(instructions), Some(ticks)) =
                    (now.0.checked_sub(begun.0), now.1.checked_sub(begun.1))
                else {
                    return false;
                };
                self.open = false;
                self.regions.push(Region {
                    instructions,
                    // A marker comes in the cycle of its system call; a period is not always a whole number of ticks.
                    cycles: period.map(|period| (ticks + period / 2) / period),
                });
            }
            Device::REHEARSAL if self.regions.is_empty() && !self.open => {}
            Device::DONE | Device::FAILED if !finished => self.others.push((kind, text.to_vec())),
            _ => return false,
        }
        true
    }
}

/// The bytes that a text in hexadecimal stands for.
fn bytes(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: [u8; 16] = *b"0123456789abcdef";

    fn mark(instructions: u64, ticks: u64, message: &[u8]) -> Mark {
        let hex = message.iter().map(|byte| format!("{byte:02x}")).collect();
        Mark(instructions, ticks, hex)
    }

    fn of_driver(instructions: u64, ticks: u64, kind: u8, text: &[u8]) -> Mark {
        mark(instructions, ticks, &[&[kind], &NONCE[..], text].concat())
    }

    #[test]
    fn regions_are_what_lies_between_begin_and_end() {
        let marks = [
            of_driver(5, 10, b'W', b""),
            of_driver(6, 12, b'W', b""),
            of_driver(10, 3330, b'B', b""),
            of_driver(17, 6660, b'E', b""),
            of_driver(20, 9990, b'B', b""),
            of_driver(120, 43_290, b'E', b""),
            of_driver(130, 50_000, b'D', b""),
        ];
        let told = Told::read(&marks, NONCE, Some(333));
        let cycles: Vec<_> = told
            .regions
            .iter()
            .map(|r| (r.instructions, r.cycles))
            .collect();
        assert_eq!(cycles, [(7, Some(10)), (100, Some(100))]);
        assert_eq!(told.others, [(b'D', Vec::new())]);
        assert!(!told.open && !told.forged);
        let told = Told::read(&marks[..5], NONCE, None);
        assert!(told.open);
        assert_eq!(told.regions[0].cycles, None);
    }

    #[test]
    fn what_the_driver_does_not_write_is_forged() {
        let begin = of_driver(1, 1, b'B', b"");
        for marks in [
            vec![mark(1, 1, b"B0123456789abcdeX")],
            vec![mark(1, 1, b"")],
            vec![Mark(1, 1, "zz".to_owned())],
            vec![begin.clone(), begin.clone()],
            vec![of_driver(1, 1, b'E', b"")],
            vec![begin.clone(), of_driver(0, 2, b'E', b"")],
            vec![of_driver(1, 1, b'D', b""), begin],
        ] {
            assert!(Told::read(&marks, NONCE, Some(333)).forged, "{marks:?}");
        }
    }
}
