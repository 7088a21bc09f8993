//! The store by itself: schemas, facts that differ, files that are no store.
use super::*;
use crate::measurement::BackendName;
use crate::sim::outcome::{Counters, Exit, Region};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("tickmark-store-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn measurement(cycles: u64) -> Measurement {
    Measurement {
        backend: BackendName::Sim,
        machine: "simple".into(),
        exit: Exit::Signaled {
            signal: 11,
            rip: 4096,
            address: Some(u64::MAX),
            function: Some("main+3".into()),
        },
        counters: Counters {
            instructions: 7,
            cycles: Some(cycles),
            parts: [("l1d.misses".to_owned(), 3)].into(),
            ..Counters::default()
        },
        regions: vec![Region {
            instructions: 5,
            cycles: None,
        }],
        region_cpu_time_ns: vec![9],
        open_region: true,
        messages: vec![(b'F', vec![0, 255, 10])],
        stdout: vec![0, 159, 146, 150],
        stderr: b"text".to_vec(),
        unanswered_system_calls: vec!["bpf".into()],
        clock_read: true,
    }
}

fn same_measurement(a: &Measurement, b: &Measurement) {
    assert_eq!(format!("{a:?}"), format!("{b:?}"));
}

#[test]
fn facts_survive_closing_and_opening() {
    let folder = Folder::new("survive");
    let path = folder.file("new/folder/store.sqlite");
    let store = Store::open(&path).unwrap();
    assert!(store.measurement("k").unwrap().is_none());
    assert_eq!(
        store.add_measurement("k", &measurement(1)).unwrap(),
        Added::New
    );
    assert_eq!(store.add_build("b", "1").unwrap(), Added::New);
    assert_eq!(store.add_result("r", 1, "{}").unwrap(), Added::New);
    drop(store);
    let store = Store::open(&path).unwrap();
    same_measurement(&store.measurement("k").unwrap().unwrap(), &measurement(1));
    assert_eq!(store.build("b").unwrap().as_deref(), Some("1"));
    assert_eq!(store.result("r").unwrap().as_deref(), Some("{}"));
}

#[test]
fn another_fact_under_the_same_key_is_told_and_the_first_one_stays() {
    let store = Store::in_memory().unwrap();
    store.add_measurement("k", &measurement(1)).unwrap();
    assert_eq!(
        store.add_measurement("k", &measurement(1)).unwrap(),
        Added::Same
    );
    assert_eq!(
        store.add_measurement("k", &measurement(2)).unwrap(),
        Added::Different
    );
    let other_output = Measurement {
        stdout: Vec::new(),
        ..measurement(1)
    };
    assert_eq!(
        store.add_measurement("k", &other_output).unwrap(),
        Added::Different
    );
    same_measurement(&store.measurement("k").unwrap().unwrap(), &measurement(1));
    store.add_result("r", 1, "1").unwrap();
    assert_eq!(store.add_result("r", 1, "2").unwrap(), Added::Different);
    // The host's times are never the same twice.
    let native = |cycles| Measurement {
        backend: BackendName::Native,
        ..measurement(cycles)
    };
    store.add_measurement("n", &native(1)).unwrap();
    assert_eq!(store.add_measurement("n", &native(2)).unwrap(), Added::Same);
}

#[test]
fn a_failure_is_noted_until_there_is_a_result() {
    let store = Store::in_memory().unwrap();
    store.note_failure("r", "1").unwrap();
    store.note_failure("r", "2").unwrap();
    assert_eq!(store.failure("r").unwrap().as_deref(), Some("2"));
    store.add_result("r", 1, "{}").unwrap();
    assert_eq!(store.failure("r").unwrap(), None);
}

#[test]
fn every_past_schema_is_opened_and_keeps_its_facts() {
    let folder = Folder::new("schemas");
    for past in 0..=VERSION {
        let path = folder.file(&format!("{past}.sqlite"));
        let connection = Connection::open(&path).unwrap();
        for step in &schema::STEPS[..past as usize] {
            connection.execute_batch(step).unwrap();
        }
        if past > 0 {
            schema::mark(&connection, past).unwrap();
            let hash = ContentHash::of(b"out").to_string();
            let blob = blob::encode(&measurement(1));
            connection
                .execute(
                    "INSERT INTO content VALUES (?1, ?2)",
                    (&hash, b"out".as_slice()),
                )
                .unwrap();
            connection
                .execute(
                    "INSERT INTO measurement VALUES ('k', 1, ?1, ?2, ?2)",
                    (blob, hash),
                )
                .unwrap();
            connection
                .execute("INSERT INTO result VALUES ('r', 1, '{}')", [])
                .unwrap();
        }
        drop(connection);
        let store = Store::open(&path).unwrap();
        if past > 0 {
            let read = store.measurement("k").unwrap().unwrap();
            assert_eq!(
                (read.counters.cycles, read.stdout.as_slice()),
                (Some(1), b"out".as_slice())
            );
            assert_eq!(store.result("r").unwrap().as_deref(), Some("{}"));
        }
        assert_eq!(store.add_result("new", 1, "{}").unwrap(), Added::New);
        assert!(store.studies().unwrap().is_empty());
        store.note_failure("f", "{}").unwrap();
        drop(store);
        let version: u32 = Connection::open(&path)
            .unwrap()
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .unwrap();
        assert_eq!(version, VERSION);
    }
}

#[test]
fn what_is_no_store_or_a_newer_one_is_refused_and_left_alone() {
    let folder = Folder::new("refused");
    let text = folder.file("text");
    std::fs::write(
        &text,
        "not a database, but long enough to be looked at as one\n".repeat(100),
    )
    .unwrap();
    assert!(matches!(
        Store::open(&text).unwrap_err(),
        StoreError::Open { .. }
    ));
    let foreign = folder.file("foreign");
    Connection::open(&foreign)
        .unwrap()
        .execute_batch("CREATE TABLE t (x)")
        .unwrap();
    let error = Store::open(&foreign).unwrap_err();
    assert!(
        error.to_string().contains("no store of this program"),
        "{error}"
    );
    let newer = folder.file("newer");
    drop(Store::open(&newer).unwrap());
    schema::mark(&Connection::open(&newer).unwrap(), VERSION + 1).unwrap();
    let error = Store::open(&newer).unwrap_err();
    assert!(
        error
            .to_string()
            .contains(&format!("has schema {}", VERSION + 1)),
        "{error}"
    );
    assert!(!error.remedy().is_empty());
    let below_a_file = text.join("store.sqlite");
    assert!(matches!(
        Store::open(&below_a_file).unwrap_err(),
        StoreError::Folder { .. }
    ));
}

#[test]
fn the_text_of_a_measurement_does_not_change() {
    // Stored texts are compared and read for years: a change needs a new version.
    assert_eq!(
        blob::encode(&measurement(1)),
        "{\"backend\":\"sim\",\"machine\":\"simple\",\"exit\":{\"kind\":\"signaled\",\"signal\":11,\"rip\":4096,\
         \"address\":18446744073709551615,\"function\":\"main+3\"},\"counters\":{\"instructions\":7,\"micro_ops\":0,\
         \"cycles\":1,\"system_calls\":0,\"peak_memory_bytes\":0,\"memory_kib_cycles\":0,\"l1d.misses\":3},\
         \"regions\":[{\"instructions\":5}],\"region_cpu_time_ns\":[9],\"open_region\":true,\
         \"messages\":[[70,[0,255,10]]],\"unanswered_system_calls\":[\"bpf\"],\"clock_read\":true}"
    );
    assert!(blob::decode(MEASUREMENT_VERSION + 1, "{}", Vec::new(), Vec::new()).is_err());
    assert!(blob::decode(MEASUREMENT_VERSION, "{\"x\":1}", Vec::new(), Vec::new()).is_err());
}

#[test]
fn many_make_one_file_at_the_same_moment() {
    for round in 0..20 {
        let folder = Folder::new(&format!("moment-{round}"));
        let path = folder.file("store.sqlite");
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    Store::open(&path).unwrap();
                });
            }
        });
    }
}

#[test]
fn two_connections_fill_one_file() {
    let folder = Folder::new("two");
    let path = folder.file("store.sqlite");
    // Opened at once by both: the schema is made once.
    std::thread::scope(|scope| {
        for part in 0..2 {
            let path = &path;
            scope.spawn(move || {
                let store = Store::open(path).unwrap();
                for key in 0..200 {
                    let key = format!("{}", key + 100 * part);
                    store.add_measurement(&key, &measurement(1)).unwrap();
                }
            });
        }
    });
    let mut lines = Vec::new();
    let store = Store::open(&path).unwrap();
    store
        .export_json_lines(Table::Measurement, &mut lines)
        .unwrap()
        .unwrap();
    assert_eq!(lines.iter().filter(|&&byte| byte == b'\n').count(), 300);
}
