//! Jobs: one run of an artifact on one input, and the key under which its measurement is stored.
use crate::artifact::ContentHash;
use crate::sim::outcome::Limits;

/// Everything that decides a measurement. On the simulator equal keys mean equal measurements, to the byte.
#[derive(Clone, Debug)]
pub struct JobKey<'a> {
    /// The artifact, with every file that it brings along.
    pub artifact: ContentHash,
    /// Standard input.
    pub stdin: &'a [u8],
    /// The backend with its effective machine, settings and seed.
    pub backend: &'a str,
    /// What the run may use.
    pub limits: &'a Limits,
    /// 0 for the first run; only backends whose runs differ have others.
    pub repetition: u32,
}

impl JobKey<'_> {
    /// The version of what runs artifacts: a hash of its source.
    pub const ENGINE: &'static str = env!("TICKMARK_ENGINE");

    /// The key as text.
    pub fn hash(&self) -> String {
        ContentHash::of_parts([
            Self::ENGINE.as_bytes(),
            self.artifact.to_string().as_bytes(),
            self.stdin,
            self.backend.as_bytes(),
            format!("{:?}", self.limits).as_bytes(),
            &self.repetition.to_le_bytes(),
        ])
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_changes_the_key() {
        let limits = Limits::default();
        let key = JobKey {
            artifact: ContentHash::of(b"a"),
            stdin: b"in",
            backend: "sim",
            limits: &limits,
            repetition: 0,
        };
        let fewer = Limits {
            instructions: 1,
            ..limits
        };
        let keys = [
            key.hash(),
            JobKey {
                artifact: ContentHash::of(b"b"),
                ..key.clone()
            }
            .hash(),
            JobKey {
                stdin: b"other",
                ..key.clone()
            }
            .hash(),
            JobKey {
                backend: "native",
                ..key.clone()
            }
            .hash(),
            JobKey {
                limits: &fewer,
                ..key.clone()
            }
            .hash(),
            JobKey {
                repetition: 1,
                ..key.clone()
            }
            .hash(),
        ];
        let mut different = keys.to_vec();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), keys.len());
        assert_eq!(keys[0], key.hash());
    }
}
