//! The `main` of C++ call problems, written from the signature: reads the arguments, makes the call, reports the result.
use crate::dataset::{Function, Signature, Target};
use std::fmt::Write;

/// Definitions that the site provides without being asked.
const LIST_NODE: &str = "struct ListNode {\n    int val;\n    ListNode *next;\n    ListNode() : val(0), next(nullptr) {}\n    \
                         ListNode(int x) : val(x), next(nullptr) {}\n    \
                         ListNode(int x, ListNode *next) : val(x), next(next) {}\n};\n";
const TREE_NODE: &str = "struct TreeNode {\n    int val;\n    TreeNode *left;\n    TreeNode *right;\n    \
                         TreeNode() : val(0), left(nullptr), right(nullptr) {}\n    \
                         TreeNode(int x) : val(x), left(nullptr), right(nullptr) {}\n    \
                         TreeNode(int x, TreeNode *left, TreeNode *right) : val(x), left(left), right(right) {}\n};\n";

/// The site's own definitions: name and text.
pub(crate) const NODES: [(&str, &str); 2] = [("ListNode", LIST_NODE), ("TreeNode", TREE_NODE)];

/// The `main` that calls what the signature names, with the driver's names in `namespace`.
pub(super) fn main_of(signature: &Signature, namespace: &str) -> String {
    let mut body = String::new();
    match &signature.target {
        Target::Function(_) | Target::Method(_) => {
            for function in &signature.functions {
                call(&mut body, function, &signature.target, namespace);
            }
        }
        Target::Design(class) => design(&mut body, class, &signature.functions, namespace),
    }
    // `signed`, since answers redefine `int`.
    format!(
        "signed main() {{\n    {namespace}::read_input();\n    \
         for (auto left = {namespace}::codec<long>::read(); left > 0; --left) {{\n        {namespace}::begin_case();\n\
         {body}    }}\n    return 0;\n}}\n"
    )
}

fn call(body: &mut String, function: &Function, target: &Target, namespace: &str) {
    let mut line = |text: std::fmt::Arguments<'_>| {
        // Writing to a string cannot fail.
        let _ = writeln!(body, "        {text}");
    };
    line(format_args!("{namespace}::begin_arguments();"));
    for (index, parameter) in function.parameters.iter().enumerate() {
        line(format_args!(
            "auto argument_{index} = {namespace}::argument<{}>();",
            parameter.written
        ));
    }
    line(format_args!("{namespace}::end_arguments();"));
    let arguments: Vec<String> = (function.parameters.iter().enumerate())
        .map(|(index, parameter)| passed(&format!("argument_{index}"), parameter.by_value))
        .collect();
    let callee = match target {
        Target::Function(name) => format!("::{name}"),
        _ => {
            line(format_args!("auto object = new ::Solution();"));
            format!("object->{}", function.name)
        }
    };
    let call = format!("{callee}({})", arguments.join(", "));
    if function.is_void() {
        line(format_args!("{namespace}::timed([&] {{ {call}; }});"));
        // The argument that it may change is the result.
        let changed = (function.parameters.iter())
            .position(|parameter| !parameter.by_value || parameter.written.contains('*'))
            .unwrap_or(0);
        line(format_args!("{namespace}::show(argument_{changed});"));
    } else {
        line(format_args!(
            "std::optional<{namespace}::bare<decltype({call})>> result;"
        ));
        line(format_args!(
            "{namespace}::timed([&] {{ result.emplace({call}); }});"
        ));
        line(format_args!("{namespace}::show(*result);"));
    }
    line(format_args!("{namespace}::report();"));
}

/// An argument that is copied anyway is moved: the copy is the driver's, not the candidate's.
fn passed(name: &str, by_value: bool) -> String {
    if by_value {
        format!("std::move({name})")
    } else {
        name.to_owned()
    }
}

fn design(body: &mut String, class: &str, functions: &[Function], namespace: &str) {
    let _ = writeln!(
        body,
        "        {namespace}::play<::{class}>([](const std::string &name) -> \
         std::unique_ptr<{namespace}::step<::{class}>> {{"
    );
    for function in functions {
        let types: Vec<&str> = (function.parameters.iter())
            .map(|p| p.written.as_str())
            .collect();
        let declared: String = (types.iter().enumerate())
            .map(|(index, ty)| format!(", {namespace}::bare<{ty}> &argument_{index}"))
            .collect();
        let arguments: Vec<String> = (function.parameters.iter().enumerate())
            .map(|(index, parameter)| passed(&format!("argument_{index}"), parameter.by_value))
            .collect();
        let arguments = arguments.join(", ");
        let inner = if function.name == class {
            format!("object = new ::{class}({arguments});")
        } else {
            format!("return object->{}({arguments});", function.name)
        };
        let list = std::iter::once(format!("::{class}"))
            .chain(types.iter().map(|ty| (*ty).to_owned()))
            .collect::<Vec<_>>()
            .join(", ");
        let _ = writeln!(
            body,
            "            if (name == \"{}\") return {namespace}::make_step<{list}>([](::{class} *&object{declared}) {{ \
             {inner} }});",
            function.name
        );
    }
    if !functions.iter().any(|function| function.name == class) {
        let _ = writeln!(
            body,
            "            if (name == \"{class}\") return {namespace}::make_step<::{class}>([](::{class} *&object) {{ \
             object = new ::{class}(); }});"
        );
    }
    let _ = writeln!(body, "            return nullptr;\n        }});");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::{Artifact, BuildFailure, BuildOptions, Toolchain, build};
    use crate::backend::Backend;
    use crate::backend::sim::{Options, Sim};
    use crate::candidate::Candidate;
    use crate::dataset::signature;
    use crate::sim::machine::catalog;
    use crate::sim::outcome::{Device, Limits};

    fn sim() -> Sim {
        Sim::new(Options {
            machine: catalog::machine("atomic").unwrap(),
            snapshots: false,
            seed: 1,
            wall_clock: std::time::Duration::from_secs(600),
            cache: std::env::temp_dir().join("tickmark-calls-test"),
            roots: Vec::new(),
        })
    }

    /// Builds, runs on these lines of arguments, and gives the results.
    fn results(source: &str, target: &Target, cases: &[&str]) -> Vec<String> {
        let candidate = Candidate::CppCalls {
            source: source.into(),
            definitions: String::new(),
            signature: signature::read_cpp(source, target),
        };
        let artifact = match build(&candidate, &Toolchain::default(), &BuildOptions::default()) {
            Ok(artifact @ Artifact::Elf(_)) => artifact,
            Err(BuildFailure::CompileError { text }) => panic!("{text}"),
            other => panic!("{other:?}"),
        };
        let sim = sim();
        let input = format!("{}\n{}\n", cases.len(), cases.join("\n"));
        let run = sim
            .run(&artifact, input.as_bytes(), &Limits::default())
            .unwrap();
        assert!(
            run.messages.iter().any(|(kind, _)| *kind == Device::DONE),
            "{run:?}"
        );
        assert_eq!(run.regions.len(), 1 + cases.len());
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (run.messages.iter())
            .filter(|(kind, _)| *kind == Device::RESULT)
            .map(|(_, bytes)| text(bytes))
            .collect()
    }

    fn method(name: &str) -> Target {
        Target::Method(name.into())
    }

    #[test]
    fn every_kind_of_parameter_and_result_is_passed() {
        let source = "class Solution {\npublic:\n  vector<string> f(int a, long long b, double c, bool d, char e, const string& s, \
                      vector<vector<char>>& grid, vector<string> words, unsigned u) {\n    grid[0][0] = '*';\n    return {to_string(a), \
                      to_string(b), to_string(c), d ? \"yes\" : \"no\", string(1, e), s, string(grid[0].begin(), grid[0].end()), \
                      words[1], to_string(u)};\n  }\n};";
        let found = results(
            source,
            &method("f"),
            &[r#"[-3,9007199254740993,0.5,true,"x","q\"\\\n",[["a","b"]],["","é"],4294967295]"#],
        );
        assert_eq!(
            found,
            [
                r#"["-3","9007199254740993","0.500000","yes","x","q\"\\\u000a","*b","é","4294967295"]"#
            ]
        );
    }

    #[test]
    fn nodes_of_all_kinds_come_back_as_they_went() {
        let lists = "struct ListNode { int val; ListNode *next; ListNode(int x) : val(x), next(nullptr) {} };\n\
                     class Solution {\npublic:\n  vector<ListNode*> f(ListNode* a, vector<ListNode*>& b) { b.push_back(a); return b; }\n};";
        assert_eq!(
            results(lists, &method("f"), &["[[1,2],[[],[3]]]", "[[],[]]"]),
            ["[[],[3],[1,2]]", "[[]]"]
        );
        let trees = "struct TreeNode { int val; TreeNode *left, *right; TreeNode(int x) : val(x) {} };\n\
                     class Solution {\npublic:\n  TreeNode* f(TreeNode* root, TreeNode* p) { return p ? p : root; }\n};";
        assert_eq!(
            results(
                trees,
                &method("f"),
                &["[[3,5,1,null,2,0,8],null]", "[[3,5,1,6,2],5]", "[[],null]"]
            ),
            ["[3,5,1,null,2,0,8]", "[5,6,2]", "[]"]
        );
        let next = "struct Node { int val; Node *left, *right, *next; Node(int x) : val(x) {} };\nclass Solution {\npublic:\n  \
                    Node* f(Node* root) { root->left->next = root->right; return root; }\n};";
        assert_eq!(
            results(next, &method("f"), &["[[1,2,3,null,4]]"]),
            ["[1,\"#\",2,3,\"#\",4,\"#\"]"]
        );
        let random = "class Node {\npublic:\n  int val; Node *next, *random; Node(int x) { val = x; }\n};\nclass Solution {\npublic:\n  \
                      Node* f(Node* head) { return head; }\n};";
        assert_eq!(
            results(random, &method("f"), &["[[[7,null],[13,0]]]", "[[]]"]),
            ["[[7,null],[13,0]]", "[]"]
        );
        let graph = "struct Node { int val; vector<Node*> neighbors; Node(int x) : val(x) {} };\nclass Solution {\npublic:\n  \
                     Node* f(Node* node) { return node; }\n};";
        assert_eq!(
            results(graph, &method("f"), &["[[[2,4],[1,3],[2,4],[1,3]]]"]),
            ["[[2,4],[1,3],[2,4],[1,3]]"]
        );
        let children = "struct Node { int val; vector<Node*> children; Node() {} Node(int x) : val(x) {} };\nclass Solution {\npublic:\n  \
                        Node* f(Node* node) { return node; }\n};";
        assert_eq!(
            results(
                children,
                &method("f"),
                &[
                    "[[1,null,3,2,4,null,5,6]]",
                    "[[1]]",
                    "[[1,null,2,3,null,null,4]]"
                ]
            ),
            ["[1,null,3,2,4,null,5,6]", "[1]", "[1,null,2,3,null,null,4]"]
        );
    }

    #[test]
    fn a_changed_argument_is_the_result_of_a_void_method() {
        let source = "#define int long long\nclass Solution {\npublic:\n  void f(vector<int>& a, int k) { rotate(a.begin(), a.begin() + k, \
                      a.end()); }\n};";
        assert_eq!(results(source, &method("f"), &["[[1,2,3],1]"]), ["[2,3,1]"]);
    }

    #[test]
    fn a_design_plays_its_calls() {
        let source = "class Stack {\n  vector<int> v;\npublic:\n  Stack(int first) { push(first); }\n  void push(int x) { v.push_back(x); }\n  \
                      int top() const { return v.back(); }\n  vector<int>& all() { return v; }\n  double half(int a, int b) { return (a - b) / 2.0; }\n};";
        let target = Target::Design("Stack".into());
        assert_eq!(
            results(
                source,
                &target,
                &[r#"[["Stack","push","top","all","half"],[[1],[2],[],[],[7,4]]]"#]
            ),
            ["[null,null,2,[1,2],1.5]"]
        );
        let plain = "class Counter {\n  int n = 0;\npublic:\n  int next() { return ++n; }\n};";
        assert_eq!(
            results(
                plain,
                &Target::Design("Counter".into()),
                &[r#"[["Counter","next","next"],[[],[],[]]]"#]
            ),
            ["[null,1,2]"]
        );
    }

    #[test]
    fn long_results_come_in_parts_and_functions_need_no_class() {
        let source =
            "vector<int> f(int n) { vector<int> v(n); iota(v.begin(), v.end(), 0); return v; }";
        let candidate = Candidate::CppCalls {
            source: source.into(),
            definitions: String::new(),
            signature: signature::read_cpp(source, &Target::Function("f".into())),
        };
        let artifact = build(&candidate, &Toolchain::default(), &BuildOptions::default()).unwrap();
        let sim = sim();
        let run = sim
            .run(&artifact, b"1\n[50000]\n", &Limits::default())
            .unwrap();
        let crate::verdict::Results { values, .. } = crate::verdict::Results::of(&run);
        let value = values[0].as_ref().unwrap();
        assert_eq!(value.sequence().unwrap().len(), 50_000);

        // Never another number than the one that was given.
        for given in ["3000000000", "-2147483649", "18446744073709551617"] {
            let stdin = format!("1\n[{given}]\n");
            let run = sim
                .run(&artifact, stdin.as_bytes(), &Limits::default())
                .unwrap();
            let (kind, text) = run.messages.last().unwrap();
            assert_eq!(*kind, b'F', "{given}");
            let text = String::from_utf8_lossy(text);
            assert!(text.contains("a number is too large"), "{given}: {text}");
        }
    }

    #[test]
    fn what_the_compiler_does_not_know_is_no_fault_of_the_answer() {
        let source = "class Solution {\npublic:\n  int f(int n) {\n    auto g = [](this auto&& g, int k) -> int { return k ? 1 + g(k - 1) : 0; };\n    \
                      return g(n);\n  }\n};";
        let candidate = Candidate::CppCalls {
            source: source.into(),
            definitions: String::new(),
            signature: signature::read_cpp(source, &method("f")),
        };
        match build(&candidate, &Toolchain::default(), &BuildOptions::default()) {
            Ok(_) => {}
            Err(crate::artifact::BuildFailure::Ours(failure)) => {
                assert!(failure.remedy.contains("g++ 14"), "{failure:?}");
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}
