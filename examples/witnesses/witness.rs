//! One row of the table: a program, what it is given, and where it comes from.

/// The program of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Program {
    /// A file of a Debian package, run where it is.
    Installed {
        path: &'static str,
        package: &'static str,
    },
    /// A source of `programs`, built by a command: `{in}` and `{out}` stand for the files.
    Built {
        source: &'static str,
        build: &'static [&'static str],
        package: &'static str,
    },
    /// A Python script of `programs`, run as `tickmark run -- python3` runs it. With `packages`, by the interpreter of the
    /// virtual environment, which must have those packages.
    Python {
        script: &'static str,
        packages: &'static [&'static str],
    },
}

/// A row of the table, before it is run.
#[derive(Clone, Debug)]
pub(crate) struct Witness {
    pub(crate) name: &'static str,
    /// What it does, in a few words.
    pub(crate) what: &'static str,
    pub(crate) program: Program,
    pub(crate) argv0: Option<&'static str>,
    pub(crate) arguments: &'static [&'static str],
    pub(crate) stdin: &'static str,
    /// Further folders that the guest sees: guest path and path on the host.
    pub(crate) roots: &'static [(&'static str, &'static str)],
    pub(crate) v3: bool,
    /// It puts markers around a span.
    pub(crate) marked: bool,
    /// Why the count of its span is not the host's, where that is known of this row.
    pub(crate) apart: Option<&'static str>,
}

impl Witness {
    const fn new(name: &'static str, what: &'static str, program: Program) -> Self {
        Self {
            name,
            what,
            program,
            argv0: None,
            arguments: &[],
            stdin: "",
            roots: &[],
            v3: false,
            marked: false,
            apart: None,
        }
    }

    /// A program of a Debian package.
    pub(crate) const fn installed(
        name: &'static str,
        what: &'static str,
        path: &'static str,
        package: &'static str,
    ) -> Self {
        Self::new(name, what, Program::Installed { path, package })
    }

    /// A program of `programs`, with markers.
    pub(crate) const fn built(
        name: &'static str,
        what: &'static str,
        source: &'static str,
        build: &'static [&'static str],
        package: &'static str,
    ) -> Self {
        Self::new(
            name,
            what,
            Program::Built {
                source,
                build,
                package,
            },
        )
        .marked()
    }

    /// A Python script of `programs`.
    pub(crate) const fn python(
        name: &'static str,
        what: &'static str,
        script: &'static str,
        packages: &'static [&'static str],
    ) -> Self {
        Self::new(name, what, Program::Python { script, packages })
    }

    pub(crate) const fn arguments(mut self, arguments: &'static [&'static str]) -> Self {
        self.arguments = arguments;
        self
    }

    pub(crate) const fn argv0(mut self, name: &'static str) -> Self {
        self.argv0 = Some(name);
        self
    }

    pub(crate) const fn stdin(mut self, text: &'static str) -> Self {
        self.stdin = text;
        self
    }

    pub(crate) const fn roots(mut self, roots: &'static [(&'static str, &'static str)]) -> Self {
        self.roots = roots;
        self
    }

    /// On the profile x86-64-v3 instead of v2.
    pub(crate) const fn v3(mut self) -> Self {
        self.v3 = true;
        self
    }

    pub(crate) const fn marked(mut self) -> Self {
        self.marked = true;
        self
    }

    pub(crate) const fn apart(mut self, reason: &'static str) -> Self {
        self.apart = Some(reason);
        self
    }

    pub(crate) const fn unmarked(mut self) -> Self {
        self.marked = false;
        self
    }

    /// Name of its guest profile.
    pub(crate) fn profile(&self) -> &'static str {
        if self.v3 { "x86-64-v3" } else { "x86-64-v2" }
    }
}
