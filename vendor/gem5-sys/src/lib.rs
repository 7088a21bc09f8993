//! A safe wrapper around the C interface of shim.h: one simulation of gem5 in this process.
//!
//! gem5 keeps global state and ends the process when it panics, so a process makes one [`Simulation`] and ends.
use std::ffi::{CStr, CString};
use std::marker::PhantomData;

#[allow(dead_code, clippy::all, reason = "written by bindgen from shim.h")]
mod bindings {
    include!(concat!(env!("OUT_DIR"), "/bindings.rs"));
}

/// What gem5 says went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub String);

impl std::fmt::Display for Error {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Where a simulation stands when it has stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Why, in gem5's words.
    pub cause: String,
    /// The code that came with it: the guest's exit code, where it exited.
    pub code: i64,
    /// Ticks so far.
    pub ticks: u64,
    /// Retired instructions so far.
    pub instructions: u64,
}

/// A loaded configuration that has not been built yet.
#[derive(Debug)]
pub struct Simulation {
    raw: *mut bindings::tickmark_gem5,
    /// gem5 belongs to the thread that loaded it.
    not_send: PhantomData<*mut ()>,
}

/// A simulation whose program is in place.
#[derive(Debug)]
pub struct Running(Simulation);

fn text(string: &str) -> Result<CString, Error> {
    CString::new(string)
        .map_err(|_| Error(format!("`{}` has a NUL byte in it", string.escape_debug())))
}

/// # Safety
/// `pointer` is a NUL-terminated string that stays as it is for the time of the call.
unsafe fn owned(pointer: *const std::ffi::c_char) -> String {
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(pointer) }
        .to_string_lossy()
        .into_owned()
}

impl Simulation {
    /// Loads a configuration; gem5's files go to the folder `output`. Once in a process.
    ///
    /// # Errors
    /// The file cannot be read, or gem5 has been loaded before.
    pub fn load(configuration: &str, output: &str) -> Result<Self, Error> {
        let (configuration, output) = (text(configuration)?, text(output)?);
        // SAFETY: both are strings that outlive the call.
        let raw = unsafe { bindings::tickmark_gem5_load(configuration.as_ptr(), output.as_ptr()) };
        if raw.is_null() {
            // SAFETY: the interface promises a string, also for NULL.
            return Err(Error(unsafe {
                owned(bindings::tickmark_gem5_error(std::ptr::null()))
            }));
        }
        Ok(Self {
            raw,
            not_send: PhantomData,
        })
    }

    fn check(&self, result: std::ffi::c_int) -> Result<(), Error> {
        if result == 0 {
            return Ok(());
        }
        // SAFETY: `raw` is the simulation that `load` gave.
        Err(Error(unsafe {
            owned(bindings::tickmark_gem5_error(self.raw))
        }))
    }

    /// Sets a parameter of an object.
    ///
    /// # Errors
    /// There is no such object or parameter, or the value does not fit.
    pub fn set(&mut self, object: &str, parameter: &str, value: &str) -> Result<(), Error> {
        let (object, parameter, value) = (text(object)?, text(parameter)?, text(value)?);
        // SAFETY: `raw` is the simulation that `load` gave; the strings outlive the call.
        self.check(unsafe {
            bindings::tickmark_gem5_set(
                self.raw,
                object.as_ptr(),
                parameter.as_ptr(),
                value.as_ptr(),
            )
        })
    }

    /// Sets a parameter that is a list.
    ///
    /// # Errors
    /// As [`Simulation::set`].
    pub fn set_list(
        &mut self,
        object: &str,
        parameter: &str,
        values: &[String],
    ) -> Result<(), Error> {
        let (object, parameter) = (text(object)?, text(parameter)?);
        let values = values
            .iter()
            .map(|value| text(value))
            .collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<_> = values.iter().map(|value| value.as_ptr()).collect();
        // SAFETY: `raw` is the simulation that `load` gave; strings and list outlive the call.
        self.check(unsafe {
            bindings::tickmark_gem5_set_list(
                self.raw,
                object.as_ptr(),
                parameter.as_ptr(),
                pointers.as_ptr(),
                pointers.len(),
            )
        })
    }

    /// Where the guest's dynamic linker is looked for.
    ///
    /// # Errors
    /// The path holds a NUL byte.
    pub fn set_interpreter_folder(&mut self, folder: &str) -> Result<(), Error> {
        let folder = text(folder)?;
        // SAFETY: `raw` is the simulation that `load` gave; the string outlives the call.
        self.check(unsafe {
            bindings::tickmark_gem5_set_interpreter_folder(self.raw, folder.as_ptr())
        })
    }

    /// Builds all objects and puts the program in place.
    ///
    /// # Errors
    /// What gem5 has against the configuration.
    pub fn start(self, core: &str) -> Result<Running, Error> {
        let core = text(core)?;
        // SAFETY: `raw` is the simulation that `load` gave; the string outlives the call.
        self.check(unsafe { bindings::tickmark_gem5_start(self.raw, core.as_ptr()) })?;
        Ok(Running(self))
    }
}

impl Running {
    /// Runs until gem5 leaves its simulation.
    ///
    /// # Errors
    /// What gem5 threw. A panic of gem5 ends the process.
    pub fn run(&mut self) -> Result<Stop, Error> {
        let mut stop = bindings::tickmark_gem5_stop {
            code: 0,
            ticks: 0,
            instructions: 0,
        };
        // SAFETY: the simulation has been started; `stop` outlives the call.
        self.0
            .check(unsafe { bindings::tickmark_gem5_run(self.0.raw, &raw mut stop) })?;
        // SAFETY: the interface promises a string that stays until the next run.
        let cause = unsafe { owned(bindings::tickmark_gem5_cause(self.0.raw)) };
        Ok(Stop {
            cause,
            code: stop.code,
            ticks: stop.ticks,
            instructions: stop.instructions,
        })
    }

    /// Writes all statistics as `stats.txt` into the output folder.
    ///
    /// # Errors
    /// What gem5 threw.
    pub fn dump(&mut self) -> Result<(), Error> {
        // SAFETY: the simulation has been started.
        self.0
            .check(unsafe { bindings::tickmark_gem5_dump(self.0.raw) })
    }

    /// The value of one statistic, by its name in `stats.txt`; of a vector, its total.
    ///
    /// # Errors
    /// There is no number under this name.
    pub fn statistic(&mut self, name: &str) -> Result<f64, Error> {
        let name = text(name)?;
        let mut value = 0.0;
        // SAFETY: the simulation has been started; name and value outlive the call.
        self.0.check(unsafe {
            bindings::tickmark_gem5_statistic(self.0.raw, name.as_ptr(), &raw mut value)
        })?;
        Ok(value)
    }
}
