//! The memory of an evaluation: facts from the store, and facts to it, without a failure of the store ending a run.
use super::run::SampleRun;
use crate::artifact::ContentHash;
use crate::measurement::Measurement;
use crate::store::{Added, Store, StoreError, StudySample};
use crate::verdict::{JUDGE_VERSION, Verdict};
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};

/// What building a candidate gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BuildFact {
    /// An artifact with this identity.
    Artifact(ContentHash),
    /// No artifact, by a fault of the candidate.
    Refused(Verdict),
}

/// A store as an evaluation uses it.
///
/// What cannot be read is computed again; what cannot be written is remembered as the evaluation's failure, and the
/// evaluation goes on: its results are right, they are only not kept.
#[derive(Debug)]
pub struct Memory<'a> {
    store: &'a Store,
    failed: Mutex<Option<StoreError>>,
    alarms: Mutex<Vec<String>>,
}

impl<'a> Memory<'a> {
    /// The memory that this store is.
    pub fn new(store: &'a Store) -> Self {
        Self {
            store,
            failed: Mutex::default(),
            alarms: Mutex::default(),
        }
    }

    /// The store.
    pub fn store(&self) -> &'a Store {
        self.store
    }

    /// The first failure of the store, if there was one.
    pub fn failure(&self) -> Option<StoreError> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.take()
    }

    /// Facts that differ from those under the same key: what should be deterministic is not.
    pub fn alarms(&self) -> Vec<String> {
        let alarms = self.alarms.lock().unwrap_or_else(PoisonError::into_inner);
        alarms.clone()
    }

    fn ok<T>(&self, result: Result<T, StoreError>) -> Option<T> {
        result
            .map_err(|error| {
                let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.get_or_insert(error);
            })
            .ok()
    }

    fn added(&self, what: &str, key: &str, result: Result<Added, StoreError>) {
        if self.ok(result) == Some(Added::Different) {
            self.alarm(format!(
                "{what} `{key}` differs from the one that is stored"
            ));
        }
    }

    /// Says that something was not the same twice.
    pub fn alarm(&self, text: String) {
        let mut alarms = self.alarms.lock().unwrap_or_else(PoisonError::into_inner);
        alarms.push(text);
    }

    /// What building gave, if it is known.
    pub fn build(&self, key: &str) -> Option<BuildFact> {
        let text = self.ok(self.store.build(key))??;
        serde_json::from_str(&text).ok()
    }

    /// Keeps what building gave.
    pub fn keep_build(&self, key: &str, fact: &BuildFact) {
        let text = serde_json::to_string(fact).expect("a build is strings and numbers");
        self.added("the build", key, self.store.add_build(key, &text));
    }

    /// The measurement of a job, if it is known.
    pub fn measurement(&self, key: &str) -> Option<Measurement> {
        self.ok(self.store.measurement(key))?
    }

    /// Keeps a measurement.
    pub fn keep_measurement(&self, key: &str, measurement: &Measurement) {
        let added = self.store.add_measurement(key, measurement);
        self.added("the measurement", key, added);
    }

    /// The result of a sample, if it is known.
    pub fn result(&self, key: &str) -> Option<SampleRun> {
        if key.is_empty() {
            return None;
        }
        let text = self.ok(self.store.result(key))??;
        serde_json::from_str(&text).ok()
    }

    /// The last failure of ours in place of a result.
    pub fn result_failure(&self, key: &str) -> Option<Verdict> {
        let text = self.ok(self.store.failure(key))??;
        serde_json::from_str(&text).ok()
    }

    /// Keeps the result of a sample; a failure of ours is noted only, so that it is tried again.
    pub fn keep_result(&self, key: &str, run: &SampleRun) {
        if key.is_empty() {
            return;
        }
        if run.verdict.is_failure_of_ours() {
            let text = serde_json::to_string(&run.verdict).expect("a verdict is always JSON");
            self.ok(self.store.note_failure(key, &text));
            return;
        }
        let text = serde_json::to_string(run).expect("a result is strings and numbers");
        let added = self.store.add_result(key, JUDGE_VERSION, &text);
        self.added("the result", key, added);
    }

    /// Writes a study down; gives its key.
    pub fn begin_study(
        &self,
        name: &str,
        blob: &str,
        samples: &[StudySample],
        sources: &[&str],
    ) -> Option<String> {
        let sources = sources.iter().copied();
        self.ok(self.store.begin_study(name, blob, samples, sources))
    }
}
