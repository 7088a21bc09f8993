// gem5 behind the C interface of shim.h. Written against gem5 v24.0.
#include "shim.h"

#include <exception>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/inifile.hh"
#include "base/output.hh"
#include "base/socket.hh"
#include "base/statistics.hh"
#include "base/stats/group.hh"
#include "base/stats/info.hh"
#include "base/stats/text.hh"
#include "cpu/base.hh"
#include "sim/core.hh"
#include "sim/cur_tick.hh"
#include "sim/cxx_config_ini.hh"
#include "sim/cxx_manager.hh"
#include "sim/eventq.hh"
#include "sim/init_signals.hh"
#include "sim/root.hh"
#include "sim/sim_events.hh"
#include "sim/sim_exit.hh"
#include "sim/sim_object.hh"
#include "sim/simulate.hh"
#include "sim/stat_control.hh"

// Its header wants gem5's copy of libelf, which this does not use.
namespace gem5::loader {
void setInterpDir(const std::string &folder);
}

using namespace gem5;

struct tickmark_gem5 {
    CxxIniFile file;
    std::unique_ptr<CxxConfigManager> manager;
    BaseCPU *core = nullptr;
    std::string error;
    std::string cause;
};

namespace {

// What went wrong before there was an object to keep it.
std::string load_error = "gem5 has not been loaded";
bool loaded = false;

// Runs a step and turns whatever it throws into a message.
template <class Step> int attempt(tickmark_gem5 *simulation, Step step) {
    try {
        simulation->error.clear();
        step();
        return 0;
    } catch (const CxxConfigManager::Exception &problem) {
        simulation->error = problem.name + ": " + problem.message;
    } catch (const std::exception &problem) {
        simulation->error = problem.what();
    } catch (...) {
        simulation->error = "gem5 threw something that says nothing";
    }
    if (simulation->error.empty()) simulation->error = "gem5 threw an exception without a message";
    return 1;
}

// Statistics hang in a tree of groups, which gem5's Python builds from the tree of objects; so does this.
void bind_groups(CxxConfigManager &manager) {
    for (auto &[path, object] : manager.objectsByName) {
        if (path == "root") continue;
        auto dot = path.rfind('.');
        const std::string above = dot == std::string::npos ? "root" : path.substr(0, dot);
        const std::string name = dot == std::string::npos ? path : path.substr(dot + 1);
        auto parent = manager.objectsByName.find(above);
        if (parent != manager.objectsByName.end()) parent->second->addStatGroup(name.c_str(), object);
    }
}

template <class Step> void for_each_statistic(statistics::Group &group, Step step) {
    for (statistics::Info *info : group.getStats()) step(*info);
    for (auto &[name, child] : group.getStatGroups()) for_each_statistic(*child, step);
}

void write_group(statistics::Group &group, statistics::Output &output) {
    for (statistics::Info *info : group.getStats()) info->visit(output);
    for (auto &[name, child] : group.getStatGroups()) {
        output.beginGroup(name.c_str());
        write_group(*child, output);
        output.endGroup();
    }
}

const statistics::Info *find_statistic(statistics::Group &group, const std::string &name) {
    return group.resolveStat(name);
}

} // namespace

extern "C" {

tickmark_gem5 *tickmark_gem5_load(const char *configuration, const char *output) {
    if (loaded) {
        load_error = "gem5 has been loaded before in this process, and keeps what it was";
        return nullptr;
    }
    try {
        loaded = true;
        auto simulation = std::make_unique<tickmark_gem5>();
        initSignals();
        // A debugger port would be open to everyone on this machine.
        ListenSocket::disableAll();
        setClockFrequency(1000000000000);
        fixClockFrequency();
        curEventQueue(getEventQueue(0));
        simout.setDirectory(output);
        statistics::initSimStats();
        if (!simulation->file.load(configuration)) {
            load_error = std::string("cannot read the configuration `") + configuration + "`";
            return nullptr;
        }
        simulation->manager = std::make_unique<CxxConfigManager>(simulation->file);
        return simulation.release();
    } catch (const std::exception &problem) {
        load_error = problem.what();
    } catch (...) {
        load_error = "gem5 could not be initialised";
    }
    return nullptr;
}

const char *tickmark_gem5_error(const tickmark_gem5 *simulation) {
    return simulation == nullptr ? load_error.c_str() : simulation->error.c_str();
}

int tickmark_gem5_set(tickmark_gem5 *simulation, const char *object, const char *parameter, const char *value) {
    return attempt(simulation, [&] { simulation->manager->setParam(object, parameter, value); });
}

int tickmark_gem5_set_list(tickmark_gem5 *simulation, const char *object, const char *parameter,
                           const char *const *values, size_t count) {
    return attempt(simulation, [&] {
        simulation->manager->setParamVector(object, parameter, std::vector<std::string>(values, values + count));
    });
}

int tickmark_gem5_set_interpreter_folder(tickmark_gem5 *simulation, const char *folder) {
    return attempt(simulation, [&] { loader::setInterpDir(folder); });
}

int tickmark_gem5_start(tickmark_gem5 *simulation, const char *core) {
    return attempt(simulation, [&] {
        CxxConfigManager &manager = *simulation->manager;
        manager.instantiate();
        bind_groups(manager);
        for_each_statistic(*Root::root(), [](statistics::Info &info) { info.enable(); });
        for (statistics::Info *info : statistics::statsList()) info->enable();
        statistics::enable();
        manager.initState();
        manager.startup();
        simulation->core = &manager.getObject<BaseCPU>(core);
    });
}

int tickmark_gem5_run(tickmark_gem5 *simulation, tickmark_gem5_stop *stop) {
    return attempt(simulation, [&] {
        GlobalSimLoopExitEvent *event = simulate();
        simulation->cause = event->getCause();
        stop->code = event->getCode();
        stop->ticks = curTick();
        stop->instructions = simulation->core->totalInsts();
    });
}

const char *tickmark_gem5_cause(const tickmark_gem5 *simulation) {
    return simulation->cause.c_str();
}

int tickmark_gem5_dump(tickmark_gem5 *simulation) {
    return attempt(simulation, [&] {
        statistics::Group &root = *Root::root();
        root.preDumpStats();
        for_each_statistic(root, [](statistics::Info &info) { info.prepare(); });
        for (statistics::Info *info : statistics::statsList()) info->prepare();
        statistics::Output *output = statistics::initText("stats.txt", true, true);
        output->begin();
        write_group(root, *output);
        for (statistics::Info *info : statistics::statsList()) info->visit(*output);
        output->end();
    });
}

int tickmark_gem5_statistic(tickmark_gem5 *simulation, const char *name, double *value) {
    return attempt(simulation, [&] {
        const statistics::Info *info = find_statistic(*Root::root(), name);
        if (auto scalar = dynamic_cast<const statistics::ScalarInfo *>(info)) {
            *value = scalar->result();
        } else if (auto vector = dynamic_cast<const statistics::VectorInfo *>(info)) {
            *value = vector->total();
        } else {
            throw std::runtime_error(std::string("there is no number under the name `") + name + "`");
        }
    });
}

} // extern "C"
