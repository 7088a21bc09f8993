//! The files that a guest sees: a map from guest path to content, filled lazily by the backend.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// What stands at a path.
#[derive(Clone, Debug)]
pub enum Node {
    /// A regular file.
    File {
        /// Its bytes.
        content: Arc<[u8]>,
        /// Mode 0755 rather than 0644.
        executable: bool,
    },
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink {
        /// Where it points, absolute or relative to its directory.
        target: Arc<str>,
    },
}

/// A tree of files that is read only where the guest looks.
///
/// The answers must not change during a run: equal questions get equal answers. A provider that reads from a disk keeps
/// what it has read, as the guest asks for the status and for the content of a file separately.
pub trait FileProvider: Send + Sync {
    /// The node at this path below the tree's root (`""` is the root itself), or `None` if nothing is there.
    fn lookup(&self, relative: &str) -> Option<Node>;
    /// The names in this directory, sorted; `None` if it is not a directory.
    fn list(&self, relative: &str) -> Option<Vec<String>>;
}

#[derive(Clone)]
struct Tree {
    prefix: String,
    provider: Arc<dyn FileProvider>,
}

#[derive(Clone, Default)]
struct Inner {
    /// By canonical path: absolute, without `.`, `..`, double or trailing slashes.
    nodes: BTreeMap<String, Node>,
    /// Longest prefix first.
    trees: Vec<Tree>,
    working_directory: String,
}

/// The files that a guest sees. Cheap to clone.
///
/// A new world holds what a small Linux system has: `/tmp`, `/etc/passwd`, `/proc/sys` and so on, with fixed content.
/// `/dev` and what describes the process in `/proc` come from the kernel. Nothing of the host is visible.
#[derive(Clone)]
pub struct World(Arc<Inner>);

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("nodes", &self.0.nodes.len())
            .field(
                "trees",
                &self.0.trees.iter().map(|t| &t.prefix).collect::<Vec<_>>(),
            )
            .finish_non_exhaustive()
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

const BASE_FILES: &[(&str, &str)] = &[
    ("/etc/group", "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n"),
    ("/etc/hostname", "tickmark\n"),
    ("/etc/hosts", "127.0.0.1 localhost\n"),
    (
        "/etc/nsswitch.conf",
        "passwd: files\ngroup: files\nshadow: files\nhosts: files\n",
    ),
    (
        "/etc/passwd",
        "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    ),
    ("/proc/filesystems", "nodev\tproc\nnodev\ttmpfs\n\text4\n"),
    ("/proc/loadavg", "0.00 0.00 0.00 1/1 100\n"),
    ("/proc/sys/fs/file-max", "1048576\n"),
    ("/proc/sys/fs/pipe-max-size", "1048576\n"),
    ("/proc/sys/kernel/cap_last_cap", "40\n"),
    ("/proc/sys/kernel/hostname", "tickmark\n"),
    ("/proc/sys/kernel/ngroups_max", "65536\n"),
    ("/proc/sys/kernel/ostype", "Linux\n"),
    ("/proc/sys/kernel/pid_max", "32768\n"),
    (
        "/proc/sys/kernel/random/boot_id",
        "00000000-0000-4000-8000-000000000001\n",
    ),
    ("/proc/sys/kernel/randomize_va_space", "0\n"),
    ("/proc/sys/kernel/threads-max", "1024\n"),
    ("/proc/sys/vm/max_map_count", "65530\n"),
    ("/proc/sys/vm/mmap_min_addr", "65536\n"),
    ("/proc/sys/vm/overcommit_memory", "0\n"),
    ("/sys/devices/system/cpu/online", "0\n"),
    ("/sys/devices/system/cpu/possible", "0\n"),
    ("/sys/devices/system/cpu/present", "0\n"),
    (
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "always madvise [never]\n",
    ),
];

const BASE_DIRECTORIES: &[&str] = &[
    "/dev/shm",
    "/root",
    "/tmp",
    "/var/tmp",
    "/sys/devices/system/cpu/cpu0",
];

impl World {
    /// The base files, and `/tmp` as the working directory.
    pub fn new() -> Self {
        let mut world = Self(Arc::new(Inner {
            working_directory: "/tmp".to_owned(),
            ..Inner::default()
        }));
        world.add_dir("/");
        for path in BASE_DIRECTORIES {
            world.add_dir(path);
        }
        for (path, text) in BASE_FILES {
            world.add_file(path, text.as_bytes().into(), false);
        }
        world
    }

    /// Adds a file, or replaces what stood at its path, and adds the directories above it.
    pub fn add_file(&mut self, path: &str, content: Arc<[u8]>, executable: bool) {
        self.insert(
            path,
            Node::File {
                content,
                executable,
            },
        );
    }

    /// Adds a directory and those above it.
    pub fn add_dir(&mut self, path: &str) {
        self.insert(path, Node::Directory);
    }

    /// Adds a symbolic link and the directories above it.
    pub fn add_symlink(&mut self, path: &str, target: &str) {
        self.insert(
            path,
            Node::Symlink {
                target: target.into(),
            },
        );
    }

    /// Makes a tree visible below `prefix`. Single nodes go before trees, longer prefixes before shorter ones.
    pub fn add_host_tree(&mut self, prefix: &str, provider: Arc<dyn FileProvider>) {
        let prefix = canonical(prefix);
        self.insert(&prefix, Node::Directory);
        let inner = Arc::make_mut(&mut self.0);
        inner.trees.retain(|t| t.prefix != prefix);
        inner.trees.push(Tree { prefix, provider });
        inner.trees.sort_by(|a, b| {
            b.prefix
                .len()
                .cmp(&a.prefix.len())
                .then_with(|| a.prefix.cmp(&b.prefix))
        });
    }

    /// Where the guest starts; the directory is added. `/tmp` unless set.
    pub fn set_working_directory(&mut self, path: &str) {
        self.add_dir(path);
        Arc::make_mut(&mut self.0).working_directory = canonical(path);
    }

    /// Where the guest starts.
    pub fn working_directory(&self) -> &str {
        &self.0.working_directory
    }

    fn insert(&mut self, path: &str, node: Node) {
        let path = canonical(path);
        self.add_parents(&path);
        let nodes = &mut Arc::make_mut(&mut self.0).nodes;
        if matches!(node, Node::Directory) && matches!(nodes.get(&path), Some(Node::Directory)) {
            return;
        }
        nodes.insert(path, node);
    }

    fn add_parents(&mut self, path: &str) {
        let nodes = &mut Arc::make_mut(&mut self.0).nodes;
        let mut at = path;
        while let Some(up) = parent(at) {
            // A link stays: what is below it is reached through the link's target.
            nodes.entry(up.to_owned()).or_insert(Node::Directory);
            at = up;
        }
    }

    /// What stands at a canonical path; links are not followed.
    pub fn lookup(&self, path: &str) -> Option<Node> {
        match self.0.nodes.get(path) {
            // A directory above or at a tree's root says nothing about the tree; for the rest, both are directories.
            Some(node) => Some(node.clone()),
            None => self
                .tree_of(path)
                .and_then(|(tree, relative)| tree.provider.lookup(relative)),
        }
    }

    /// The names in a directory given by its canonical path, sorted.
    pub fn list(&self, path: &str) -> Vec<String> {
        let mut names = BTreeSet::new();
        let prefix = if path == "/" {
            "/".to_owned()
        } else {
            format!("{path}/")
        };
        for (below, _) in self
            .0
            .nodes
            .range(prefix.clone()..)
            .take_while(|(p, _)| p.starts_with(&prefix))
        {
            let rest = &below[prefix.len()..];
            if !rest.is_empty() && !rest.contains('/') {
                names.insert(rest.to_owned());
            }
        }
        if let Some((tree, relative)) = self.tree_of(path) {
            names.extend(tree.provider.list(relative).unwrap_or_default());
        }
        names.into_iter().collect()
    }

    fn tree_of<'a>(&self, path: &'a str) -> Option<(&Tree, &'a str)> {
        self.0.trees.iter().find_map(|tree| {
            let rest = path.strip_prefix(tree.prefix.trim_end_matches('/'))?;
            match rest.strip_prefix('/') {
                Some(relative) => Some((tree, relative)),
                None if rest.is_empty() => Some((tree, rest)),
                None => None,
            }
        })
    }
}

/// The directory above a canonical path; `None` for the root.
pub(super) fn parent(path: &str) -> Option<&str> {
    let cut = path.rfind('/')?;
    match (cut, path.len()) {
        (0, 1) => None,
        (0, _) => Some("/"),
        _ => Some(&path[..cut]),
    }
}

/// A name in a directory, as a canonical path.
pub(super) fn join(directory: &str, name: &str) -> String {
    if directory == "/" {
        format!("/{name}")
    } else {
        format!("{directory}/{name}")
    }
}

/// The canonical form of a path taken as absolute; links are not looked at.
fn canonical(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Letters;
    impl FileProvider for Letters {
        fn lookup(&self, relative: &str) -> Option<Node> {
            match relative {
                "" | "deep" => Some(Node::Directory),
                "a" | "deep/b" => Some(Node::File {
                    content: relative.as_bytes().into(),
                    executable: false,
                }),
                _ => None,
            }
        }
        fn list(&self, relative: &str) -> Option<Vec<String>> {
            match relative {
                "" => Some(vec!["a".to_owned(), "deep".to_owned()]),
                "deep" => Some(vec!["b".to_owned()]),
                _ => None,
            }
        }
    }

    #[test]
    fn trees_and_nodes_lie_over_each_other() {
        let mut world = World::new();
        world.add_host_tree("/lib/letters/", Arc::new(Letters));
        world.add_file("/lib/letters/deep/c", b"mine"[..].into(), true);
        assert!(matches!(
            world.lookup("/lib/letters"),
            Some(Node::Directory)
        ));
        assert!(matches!(
            world.lookup("/lib/letters/a"),
            Some(Node::File { .. })
        ));
        assert!(matches!(
            world.lookup("/lib/letters/deep/b"),
            Some(Node::File { .. })
        ));
        assert!(world.lookup("/lib/lettersX").is_none());
        assert_eq!(world.list("/lib/letters"), ["a", "deep"]);
        assert_eq!(world.list("/lib/letters/deep"), ["b", "c"]);
        assert_eq!(world.list("/lib"), ["letters"]);
    }

    #[test]
    fn paths_are_made_canonical() {
        assert_eq!(canonical("a//b/./../c/"), "/a/c");
        assert_eq!(canonical("/../.."), "/");
        assert_eq!(parent("/a/b"), Some("/a"));
        assert_eq!(parent("/a"), Some("/"));
        assert_eq!(parent("/"), None);
    }

    #[test]
    fn clones_do_not_see_each_others_changes() {
        let one = World::new();
        let mut two = one.clone();
        two.add_file("/x", b""[..].into(), false);
        assert!(one.lookup("/x").is_none());
        assert!(two.lookup("/x").is_some());
    }
}
