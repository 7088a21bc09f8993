//! The demo's plans, from the files of `examples/demo`, which are part of the program.
use super::plan::{Model, Plan};
use crate::candidate::import_bytes;
use crate::dataset::{self, DatasetForm, Language};

macro_rules! files {
    ($folder:literal) => {
        [
            include_bytes!(concat!("../../examples/demo/", $folder, "/problems.jsonl")).as_slice(),
            include_bytes!(concat!("../../examples/demo/", $folder, "/heron.jsonl")),
            include_bytes!(concat!("../../examples/demo/", $folder, "/otter.jsonl")),
            include_bytes!(concat!("../../examples/demo/", $folder, "/snail.jsonl")),
        ]
    };
}

/// The three models, in the order of the files above.
const MODELS: [&str; 3] = ["heron", "otter", "snail"];

/// Problems of our own in the three forms and the answers of three invented models: a plan and its title for each
/// language, since a runner serves one language.
///
/// One of the answers loops for ever: give the runner an instruction limit well below the default.
pub fn demo_plans() -> [(&'static str, Plan); 2] {
    let mut cpp = plan();
    let mut python = plan();
    add(&mut cpp, DatasetForm::Stdio, files!("stdio"));
    add(&mut cpp, DatasetForm::HumanevalX, files!("humaneval-x"));
    add(&mut python, DatasetForm::Humaneval, files!("humaneval"));
    [("C++", cpp), ("Python", python)]
}

fn plan() -> Plan {
    let model = |name: &str| Model {
        name: name.into(),
        ..Model::default()
    };
    Plan {
        models: MODELS.map(model).into(),
        ..Plan::default()
    }
}

fn add(plan: &mut Plan, form: DatasetForm, [problems, samples @ ..]: [&[u8]; 4]) {
    let loaded = dataset::parse(form, form.name(), problems, Language::Cpp);
    for (model, bytes) in plan.models.iter_mut().zip(samples) {
        let imported = import_bytes(&model.name, bytes, &loaded.problems, &model.name);
        model.answers.extend(imported.answers);
    }
    plan.problems.extend(loaded.problems);
    plan.skipped.extend(loaded.skipped);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::assemble;

    #[test]
    fn every_demo_problem_has_an_answer_of_every_model_that_can_be_assembled() {
        let plans = demo_plans();
        let numbers = plans.each_ref().map(|(_, plan)| plan.problems.len());
        assert_eq!(numbers, [7, 4]);
        for (_, plan) in plans {
            every_answer_is_there(&plan);
        }
    }

    fn every_answer_is_there(plan: &Plan) {
        assert!(plan.skipped.is_empty(), "{:?}", plan.skipped);
        for model in &plan.models {
            for problem in &plan.problems {
                let answers = &model.answers[&problem.id];
                assert_eq!(answers.len(), 1, "{} {}", model.name, problem.id);
                assert!(assemble(problem, &answers[0]).is_some());
            }
        }
        for problem in plan
            .problems
            .iter()
            .filter(|problem| problem.canonical.is_some())
        {
            let answer = crate::candidate::Answer::Completion(problem.canonical.clone().unwrap());
            assert!(assemble(problem, &answer).is_some());
        }
    }
}
