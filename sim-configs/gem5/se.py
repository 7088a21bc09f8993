# tickmark's script for gem5 v21 to v25: builds the system that a job describes, runs one program on it in system-call
# emulation, and writes down how it ended and when its markers came.
#
#     gem5 --outdir=DIR --listener-mode=off se.py JOB.json
#
# The job is a JSON object; its "action" is "identify", "freeze" or "run". Everything about the machine stands in its
# "system" (made by src/backend/gem5/mapping.rs), and every name that changed between versions in its "names"
# (names.json). A name that this gem5 does not know is an error: nothing is left out in silence.
import fcntl
import json
import os
import signal
import sys

import m5
from m5 import objects


def fail(message):
    # With this word the reader tells a mistake in the set-up from gem5's own messages.
    sys.stderr.write("tickmark: %s\n" % message)
    sys.stderr.flush()
    os._exit(64)


job = json.load(open(sys.argv[1]))
names = job["names"]


def knows(name):
    return getattr(objects, name, None) is not None


def find_class(name):
    for spelling in names["classes"].get(name, [name]):
        if knows(spelling):
            return getattr(objects, spelling)
    fail("this gem5 has no class %s" % " or ".join(names["classes"].get(name, [name])))


def about():
    """What this gem5 is."""
    import _m5.core
    from m5.defines import buildEnv

    isas = sorted(key[4:-4].lower() for key in buildEnv if key.startswith("USE_") and key.endswith("_ISA") and buildEnv[key])
    target = buildEnv.get("TARGET_ISA")
    if not isas and target:
        isas = [str(target).lower()]
    files = set()
    for line in open("/proc/self/maps"):
        parts = line.split(None, 5)
        if len(parts) == 6 and parts[5].startswith("/"):
            files.add(parts[5].strip())
    return {
        "version": str(_m5.core.gem5Version),
        "compiled": str(_m5.core.compileDate),
        "isas": isas,
        "tracing": bool(getattr(_m5.core, "TRACING_ON", False)),
        "cores": [kind for kind in ("atomic", "blocking", "out-of-order") if any(knows(n) for n in names["classes"][kind])],
        "python": sys.version.split()[0],
        "python_path": [path for path in sys.path if os.path.isabs(path)],
        "files": sorted(files),
    }


if job["action"] == "identify":
    with open(job["result"], "w") as file:
        json.dump(about(), file)
    os._exit(0)

system_job = job["system"]


def has_parameter(target, name):
    return name in type(target)._params


def assign(target, path, value):
    """Sets a parameter, also one of a child: "btb.numEntries". False: this gem5 does not know it."""
    parts = path.split(".")
    for part in parts[:-1]:
        if not has_parameter(target, part):
            return False
        target = getattr(target, part)
        if isinstance(target, list) or hasattr(target, "__getitem__"):
            target = target[0]
    if not has_parameter(target, parts[-1]):
        return False
    setattr(target, parts[-1], value)
    return True


def set_parameter(target, name, value):
    for spelling in names["parameters"].get(name, [name]):
        if assign(target, spelling, value):
            return
    fail("%s of this gem5 has no parameter %s" % (type(target).__name__, name))


def make_cache(description):
    cache = objects.Cache(size="32kB", assoc=8, tag_latency=2, data_latency=2, response_latency=2, mshrs=4, tgts_per_mshr=20)
    cache.replacement_policy = find_class(description["replacement"])()
    if description["prefetcher"] is not None:
        cache.prefetcher = find_class(description["prefetcher"])()
    return cache


def make_units(units):
    """The units, and behind them one for all classes that no unit does: x86 needs none of them to be fast."""
    done = set()
    pool = []
    for unit in units:
        operations = []
        for operation in unit:
            done.add(operation["class"])
            operations.append(
                objects.OpDesc(opClass=operation["class"], opLat=operation["latency"], pipelined=operation["pipelined"])
            )
        pool.append(objects.FUDesc(opList=operations, count=1))
    others = [name for name in objects.OpClass.vals if name not in done and name not in ("No_OpClass", "Num_OpClass")]
    if others:
        rest = [objects.OpDesc(opClass=n, opLat=3 if n == "IprAccess" else 1, pipelined=n != "IprAccess") for n in others]
        pool.append(objects.FUDesc(opList=rest, count=1))
    return objects.FUPool(FUList=pool)


def make_predictor():
    direction = find_class(system_job["predictor"])()
    if system_job["tagged_tables"] is not None:
        direction.tage = find_class(system_job["tagged_tables"])()
    if "conditionalBranchPred" in objects.BranchPredictor._params:
        whole = objects.BranchPredictor(conditionalBranchPred=direction)
    else:
        whole = direction
    if "indirectBranchPred" in type(whole)._params:
        whole.indirectBranchPred = objects.SimpleIndirectPredictor()
    # Children of their own, or two predictors would share one.
    if "btb" in type(whole)._params:
        whole.btb = objects.SimpleBTB()
    if "ras" in type(whole)._params:
        whole.ras = objects.ReturnAddrStack()
    return whole, direction


system = objects.System()
system.clk_domain = objects.SrcClockDomain(
    clock="%dHz" % system_job["frequency_hz"], voltage_domain=objects.VoltageDomain()
)
system.mem_ranges = [objects.AddrRange("%dB" % job["memory_bytes"])]
system.mem_mode = "atomic" if system_job["core"] == "atomic" else "timing"
cpu = find_class(system_job["core"])()
system.cpu = cpu
# Where the settings point to.
places = {"system": system, "system.cpu": cpu}
if system_job["predictor"] is not None:
    whole, direction = make_predictor()
    cpu.branchPred = whole
    places["system.cpu.branchPred"] = whole
    places["system.cpu.branchPred.direction"] = direction
    places["system.cpu.branchPred.indirectBranchPred"] = whole.indirectBranchPred
    if system_job["tagged_tables"] is not None:
        places["system.cpu.branchPred.direction.tage"] = direction.tage
if system_job["units"]:
    set_parameter(cpu, "fuPool", make_units(system_job["units"]))

system.membus = objects.SystemXBar()
places["system.membus"] = system.membus
places["system.membus.snoop_filter"] = system.membus.snoop_filter
caches = {description["object"]: make_cache(description) for description in system_job["caches"]}
places.update(caches)
if caches:
    cpu.icache, cpu.dcache = caches["system.cpu.icache"], caches["system.cpu.dcache"]
    system.l2, system.l2bus = caches["system.l2"], objects.L2XBar()
    places["system.l2bus"] = system.l2bus
    cpu.icache.cpu_side, cpu.dcache.cpu_side = cpu.icache_port, cpu.dcache_port
    cpu.icache.mem_side = system.l2bus.cpu_side_ports
    cpu.dcache.mem_side = system.l2bus.cpu_side_ports
    system.l2.cpu_side = system.l2bus.mem_side_ports
    if "system.l3" in caches:
        system.l3, system.l3bus = caches["system.l3"], objects.L2XBar()
        places["system.l3bus"] = system.l3bus
        system.l2.mem_side = system.l3bus.cpu_side_ports
        system.l3.cpu_side = system.l3bus.mem_side_ports
        system.l3.mem_side = system.membus.cpu_side_ports
    else:
        system.l2.mem_side = system.membus.cpu_side_ports
else:
    cpu.icache_port = system.membus.cpu_side_ports
    cpu.dcache_port = system.membus.cpu_side_ports
cpu.createInterruptController()
cpu.interrupts[0].pio = system.membus.mem_side_ports
cpu.interrupts[0].int_requestor = system.membus.cpu_side_ports
cpu.interrupts[0].int_responder = system.membus.mem_side_ports
system.system_port = system.membus.cpu_side_ports
dram = objects.DDR4_2400_16x4(range=system.mem_ranges[0])
system.mem_ctrl = objects.MemCtrl(dram=dram, port=system.membus.mem_side_ports)
places["system.mem_ctrl"] = system.mem_ctrl
places["system.mem_ctrl.dram"] = dram

for setting in system_job["settings"]:
    if setting["object"] not in places:
        fail("there is no object %s on this machine" % setting["object"])
    set_parameter(places[setting["object"]], setting["parameter"], setting["value"])

# The program. It sees the files below "jail" and nothing else: every path is taken as one in there.
program = job["program"]
process = objects.Process(
    cmd=program["command"],
    executable=program["executable"],
    env=program["environment"],
    cwd=program["working_folder"],
    input=program["stdin"],
    output="cout",
    errout=program["stderr"],
)
if program["stack_bytes"] is not None:
    process.maxStackSize = "%dB" % program["stack_bytes"]
if program["jail"] is not None:
    system.redirect_paths = [objects.RedirectPath(app_path="/", host_paths=[program["jail"] + "/"])]
    m5.core.setInterpDir(program["jail"] + "/")
if hasattr(objects, "SEWorkload"):
    system.workload = objects.SEWorkload.init_compatible(program["executable"])
    # gem5 offers a debugger port by default; this one never does.
    if "remote_gdb_port" in type(system.workload)._params:
        system.workload.remote_gdb_port = 0
cpu.workload = process
cpu.createThreads()
if job["max_instructions"]:
    cpu.max_insts_any_thread = job["max_instructions"]
root = objects.Root(full_system=False, system=system)

# Markers come as messages through a named pipe. The kernel sends SIGINT when one is written, which gem5 takes as the
# wish to leave its simulation before the next event: the tick and the instruction are those of the marker.
markers = None
if job["markers"] is not None:
    os.mkfifo(job["markers"], 0o600)
    # For reading only: an end that can write would be told of every read, too.
    markers = os.open(job["markers"], os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(markers, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(markers, getattr(fcntl, "F_SETSIG", 10), signal.SIGINT)

m5.instantiate()
if job["action"] == "freeze":
    # The configuration has been written to the output folder.
    with open(job["result"], "w") as file:
        json.dump(about(), file)
    os._exit(0)
if markers is not None:
    fcntl.fcntl(markers, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)

# Everything on standard output behind this line is the program's.
sys.stdout.write(job["begin"] + "\n")
sys.stdout.flush()
marks = []
room = job["most_marks"]


def read_marks():
    """Notes what was written since the last look."""
    global room
    try:
        message = os.read(markers, 1 << 16)
    except BlockingIOError:
        return
    # The signal comes, too, when the program closes its end, and nothing was written.
    if message:
        room -= 1
        marks.append([cpu.totalInsts(), m5.curTick(), message.hex()])


while True:
    event = m5.simulate()
    cause = event.getCause()
    if cause != "user interrupt received" or markers is None or room <= 0:
        break
    read_marks()
if markers is not None:
    read_marks()
result = {"cause": cause, "code": event.getCode(), "tick": m5.curTick(), "marks": marks, "lost_marks": room <= 0}
m5.stats.dump()
# Written at once and last: a result that is there is whole.
with open(job["result"] + ".partial", "w") as file:
    json.dump(result, file)
os.rename(job["result"] + ".partial", job["result"])
sys.stdout.flush()
# Tearing the system down is where some versions crash, and nothing is left to do.
os._exit(0)
