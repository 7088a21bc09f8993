//! System call filters (seccomp): what a confined program may not ask of the kernel.
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};
use std::collections::BTreeMap;

/// Stands for the program's own process number, which is known only after `fork`: [`set_own_process`] puts it in.
const OWN_PROCESS: u32 = 0x5a17_c0de;

/// Refused with `EPERM` in every confined program: network, other processes, and what changes the system.
const REFUSED: &[i64] = &[
    libc::SYS_socket,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kcmp,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    // A program that leaves its group would survive the kill.
    libc::SYS_setsid,
    libc::SYS_setpgid,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
    libc::SYS_fanotify_init,
    libc::SYS_setpriority,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setattr,
    libc::SYS_ioprio_set,
];

/// Answered as if the kernel did not have them: libraries then take the older call, which the other filter can judge.
const UNKNOWN: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// The filters of a confined program, to be installed in order.
///
/// `None` where the processor architecture has no filter.
pub(super) fn programs(single_process: bool) -> Option<Vec<BpfProgram>> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).ok()?;
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|&number| (number, Vec::new())).collect();
    let mut unknown: BTreeMap<i64, Vec<SeccompRule>> =
        UNKNOWN.iter().map(|&number| (number, Vec::new())).collect();
    if single_process {
        // `raise` and `abort` signal the own process; every other target is refused. The compiler driver signals its
        // own children, so there it is Landlock's scope that protects others.
        for number in [libc::SYS_kill, libc::SYS_tkill, libc::SYS_tgkill] {
            refused.insert(number, vec![rule(SeccompCmpOp::Ne, OWN_PROCESS.into())?]);
        }
        let not_a_thread = SeccompCmpOp::MaskedEq(libc::CLONE_THREAD as u64);
        refused.insert(libc::SYS_clone, vec![rule(not_a_thread, 0)?]);
        // Its flags stand in memory, where a filter cannot look; the C library falls back to `clone`.
        unknown.insert(libc::SYS_clone3, Vec::new());
        #[cfg(target_arch = "x86_64")]
        {
            refused.insert(libc::SYS_fork, Vec::new());
            refused.insert(libc::SYS_vfork, Vec::new());
        }
    }
    let mut programs = Vec::new();
    #[cfg(target_arch = "x86_64")]
    programs.push(without_x32());
    for (rules, errno) in [(refused, libc::EPERM), (unknown, libc::ENOSYS)] {
        let filter = SeccompFilter::new(
            rules,
            SeccompAction::Allow,
            SeccompAction::Errno(errno.cast_unsigned()),
            architecture,
        )
        .ok()?;
        programs.push(BpfProgram::try_from(filter).ok()?);
    }
    Some(programs)
}

fn rule(operator: SeccompCmpOp, value: u64) -> Option<SeccompRule> {
    let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, operator, value).ok()?;
    SeccompRule::new(vec![condition]).ok()
}

/// Refuses the x32 numbers, under which the kernel knows every call a second time.
#[cfg(target_arch = "x86_64")]
fn without_x32() -> BpfProgram {
    const X32: u32 = 0x4000_0000;
    let statement = |code: u32, yes, no, k| sock_filter {
        code: u16::try_from(code).expect("the codes of classic BPF have 16 bits"),
        jt: yes,
        jf: no,
        k,
    };
    vec![
        // The number is the first word of `struct seccomp_data`.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32),
        statement(
            libc::BPF_RET | libc::BPF_K,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | 1,
        ),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

/// Puts the process number into the filters. Allocates nothing: it runs between `fork` and `exec`.
pub(super) fn set_own_process(programs: &mut [BpfProgram], process: u32) {
    for statement in programs.iter_mut().flatten() {
        if statement.k == OWN_PROCESS {
            statement.k = process;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_process_is_put_into_every_signal_rule() {
        let mut programs = programs(true).unwrap();
        let count = |value: u32| {
            move |programs: &[BpfProgram]| {
                programs
                    .iter()
                    .flatten()
                    .filter(|statement| statement.k == value)
                    .count()
            }
        };
        assert_eq!(count(OWN_PROCESS)(&programs), 3);
        set_own_process(&mut programs, 0x7777_1234);
        assert_eq!(count(OWN_PROCESS)(&programs), 0);
        assert_eq!(count(0x7777_1234)(&programs), 3);
    }
}
