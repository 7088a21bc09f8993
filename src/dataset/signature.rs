//! Signatures of functions and classes, read from source with a parser: what a driver calls, and with which types.
use tree_sitter::{Language as Grammar, Node, Parser, Tree};

/// Longest source that is parsed, in bytes.
const SOURCE_BYTES_MAX: usize = 4 << 20;
/// How deep classes and functions are looked for below the outermost level (namespaces, conditional sections).
const DEPTH_MAX: usize = 6;

/// What a driver calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A function at the outermost level.
    Function(String),
    /// A method of `Solution`, on a new object each time.
    Method(String),
    /// A class, whose calls are given as a list of names and a list of argument lists.
    Design(String),
}

impl Target {
    /// The name of the class or function that a candidate must define.
    pub fn defined_name(&self) -> &str {
        match self {
            Self::Function(name) | Self::Design(name) => name,
            Self::Method(_) => SOLUTION,
        }
    }

    /// Whether that name is one of a class.
    pub fn is_class(&self) -> bool {
        !matches!(self, Self::Function(_))
    }
}

/// The class of method problems.
pub(crate) const SOLUTION: &str = "Solution";

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name; empty where it has none.
    pub name: String,
    /// Its type as written, without the name (`const vector<int> &`); empty where Python code has none.
    pub written: String,
    /// The argument is copied (C++).
    pub by_value: bool,
}

/// A function, method or constructor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name; that of the class, for a constructor.
    pub name: String,
    /// Type of the result as written; empty for a constructor and where Python code has none.
    pub result: String,
    /// The parameters, without Python's `self`.
    pub parameters: Vec<Parameter>,
}

impl Function {
    /// Whether it has no result.
    pub fn is_void(&self) -> bool {
        matches!(self.result.as_str(), "void" | "None")
    }
}

/// A target with what a driver must know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// What is called.
    pub target: Target,
    /// The function or method; of a design problem the public methods and constructors.
    pub functions: Vec<Function>,
}

/// Reads the signature of `target` from C++ source.
///
/// # Errors
/// Why the source has none that a driver can call.
pub(crate) fn read_cpp(source: &str, target: &Target) -> Result<Signature, String> {
    let tree = parse(source, &tree_sitter_cpp::LANGUAGE.into())?;
    let functions = match target {
        Target::Function(name) => {
            let found = find(&tree, |node| {
                (node.kind() == "function_definition")
                    .then(|| cpp_function(node, source, ""))
                    .flatten()
                    .filter(|function| matches!(function, Ok(f) if f.name == *name))
            });
            vec![found.ok_or_else(|| format!("there is no function `{name}`"))??]
        }
        Target::Method(name) => {
            let all = cpp_methods(&tree, source, SOLUTION)?;
            let mut named = all.into_iter().filter(|read| match read {
                Ok(function) => function.name == *name,
                Err(_) => false,
            });
            let missing = || format!("class `{SOLUTION}` has no public method `{name}`");
            vec![named.next().ok_or_else(missing)??]
        }
        // A method with types that cannot be read is a fault only if it is called.
        Target::Design(class) => (cpp_methods(&tree, source, class)?.into_iter())
            .filter_map(Result::ok)
            .collect(),
    };
    for parameter in functions.iter().flat_map(|function| &function.parameters) {
        if parameter.written.contains("auto") && !target_is_design(target) {
            return Err(format!(
                "the type of parameter `{}` is not written",
                parameter.name
            ));
        }
    }
    Ok(Signature {
        target: target.clone(),
        functions,
    })
}

fn target_is_design(target: &Target) -> bool {
    matches!(target, Target::Design(_))
}

/// Reads the signature of `target` from Python source.
///
/// # Errors
/// Why the source has none that a driver can call.
pub(crate) fn read_python(source: &str, target: &Target) -> Result<Signature, String> {
    let tree = parse(source, &tree_sitter_python::LANGUAGE.into())?;
    let functions = match target {
        Target::Function(name) => {
            let found = find(&tree, |node| {
                (node.kind() == "function_definition" && text_of(node, "name", source) == *name)
                    .then(|| python_function(node, source, false))
            });
            vec![found.ok_or_else(|| format!("there is no function `{name}`"))?]
        }
        Target::Method(_) | Target::Design(_) => {
            let class = target.defined_name();
            let found = find(&tree, |node| {
                (node.kind() == "class_definition" && text_of(node, "name", source) == class)
                    .then(|| node.child_by_field_name("body"))
                    .flatten()
            });
            let body = found.ok_or_else(|| format!("there is no class `{class}`"))?;
            let mut cursor = body.walk();
            let methods = (body.named_children(&mut cursor))
                .filter_map(|node| match node.kind() {
                    "function_definition" => Some(node),
                    "decorated_definition" => (node.child_by_field_name("definition"))
                        .filter(|inner| inner.kind() == "function_definition"),
                    _ => None,
                })
                .map(|node| python_function(node, source, true));
            let methods: Vec<Function> = match target {
                Target::Method(name) => methods.filter(|method| method.name == *name).collect(),
                _ => methods.collect(),
            };
            if let (Target::Method(name), []) = (target, methods.as_slice()) {
                return Err(format!("class `{class}` has no method `{name}`"));
            }
            methods
        }
    };
    Ok(Signature {
        target: target.clone(),
        functions,
    })
}

/// The method that a template asks for: of `class Solution` its first public one, of another class the class.
///
/// # Errors
/// The template has no class.
pub(crate) fn target_of_cpp_template(template: &str) -> Result<Target, String> {
    let tree = parse(template, &tree_sitter_cpp::LANGUAGE.into())?;
    let class = find(&tree, |node| {
        (matches!(node.kind(), "class_specifier" | "struct_specifier")
            && node.child_by_field_name("body").is_some())
        .then(|| text_of(node, "name", template))
    });
    let class = class.ok_or("the template has no class")?;
    let methods = cpp_methods(&tree, template, &class)?;
    let mut constructs = false;
    let mut first = None;
    for method in methods.into_iter().flatten() {
        if method.name == class {
            constructs = true;
        } else if first.is_none() {
            first = Some(method.name);
        }
    }
    match first {
        Some(name) if class == SOLUTION && !constructs => Ok(Target::Method(name)),
        Some(_) => Ok(Target::Design(class)),
        None => Err(format!("class `{class}` of the template has no method")),
    }
}

/// Definitions of classes that stand in comments, as the site gives those of its nodes: name and text.
pub(crate) fn commented_definitions(source: &str) -> Vec<(String, String)> {
    let Ok(tree) = parse(source, &tree_sitter_cpp::LANGUAGE.into()) else {
        return Vec::new();
    };
    let mut texts: Vec<String> = Vec::new();
    let mut last_row = None;
    let mut cursor = tree.root_node().walk();
    for node in tree.root_node().children(&mut cursor) {
        if node.kind() != "comment" {
            continue;
        }
        let text = &source[node.byte_range()];
        let row = node.start_position().row;
        let line = text.strip_prefix("//");
        match (line, texts.last_mut()) {
            (Some(line), Some(before)) if last_row == row.checked_sub(1) => {
                before.push('\n');
                before.push_str(line);
            }
            (Some(line), _) => texts.push(line.to_owned()),
            (None, _) => texts.push(uncommented(text)),
        }
        last_row = Some(node.end_position().row);
    }
    let mut found = Vec::new();
    for text in &texts {
        // Prose before the definition would be taken for part of it.
        let opens = |line: &str| line.starts_with("struct ") || line.starts_with("class ");
        let lines = text.lines().skip_while(|line| !opens(line.trim_start()));
        let text = &lines.collect::<Vec<_>>().join("\n");
        let Ok(tree) = parse(text, &tree_sitter_cpp::LANGUAGE.into()) else {
            continue;
        };
        let node = find(&tree, |node| {
            (matches!(node.kind(), "class_specifier" | "struct_specifier")
                && node.child_by_field_name("body").is_some()
                && !node.has_error())
            .then_some(node)
        });
        if let Some(node) = node {
            let name = text_of(node, "name", text);
            found.push((name, format!("{};", &text[node.byte_range()])));
        }
    }
    found
}

/// Whether C++ source defines a class or struct of this name.
pub(crate) fn defines_cpp_class(source: &str, name: &str) -> bool {
    let Ok(tree) = parse(source, &tree_sitter_cpp::LANGUAGE.into()) else {
        return false;
    };
    find(&tree, |node| {
        (matches!(node.kind(), "class_specifier" | "struct_specifier")
            && node.child_by_field_name("body").is_some()
            && text_of(node, "name", source) == name)
            .then_some(())
    })
    .is_some()
}

/// A block comment's text without its stars.
fn uncommented(text: &str) -> String {
    let inner = text.trim_start_matches("/*").trim_end_matches("*/");
    let lines = inner.lines().map(|line| {
        let bare = line.trim_start();
        bare.strip_prefix("* ")
            .or_else(|| bare.strip_prefix('*'))
            .unwrap_or(line)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn parse(source: &str, grammar: &Grammar) -> Result<Tree, String> {
    if source.len() > SOURCE_BYTES_MAX {
        return Err(format!("the source has more than {SOURCE_BYTES_MAX} bytes"));
    }
    let mut parser = Parser::new();
    parser
        .set_language(grammar)
        .map_err(|error| error.to_string())?;
    parser
        .parse(source, None)
        .ok_or_else(|| "the source cannot be parsed".into())
}

/// The first node for which `wanted` gives something, outermost levels only.
fn find<'a, T>(tree: &'a Tree, wanted: impl Fn(Node<'a>) -> Option<T>) -> Option<T> {
    fn look<'a, T>(
        node: Node<'a>,
        depth: usize,
        wanted: &dyn Fn(Node<'a>) -> Option<T>,
    ) -> Option<T> {
        if let Some(found) = wanted(node) {
            return Some(found);
        }
        let inner = matches!(
            node.kind(),
            "compound_statement" | "field_declaration_list" | "block"
        );
        if depth == DEPTH_MAX || inner {
            return None;
        }
        let mut cursor = node.walk();
        node.named_children(&mut cursor)
            .find_map(|child| look(child, depth + 1, wanted))
    }
    look(tree.root_node(), 0, &wanted)
}

fn text_of(node: Node<'_>, field: &str, source: &str) -> String {
    node.child_by_field_name(field)
        .map_or(String::new(), |child| source[child.byte_range()].to_owned())
}

/// The public methods and constructors of a class; a method whose parameters cannot be read is an error of its own.
fn cpp_methods(
    tree: &Tree,
    source: &str,
    class: &str,
) -> Result<Vec<Result<Function, String>>, String> {
    let found = find(tree, |node| {
        if !matches!(node.kind(), "class_specifier" | "struct_specifier")
            || text_of(node, "name", source) != class
        {
            return None;
        }
        Some((node, node.child_by_field_name("body")?))
    });
    let (node, body) = found.ok_or_else(|| format!("there is no class `{class}`"))?;
    let mut public = node.kind() == "struct_specifier";
    let mut methods = Vec::new();
    let mut cursor = body.walk();
    for member in body.named_children(&mut cursor) {
        match member.kind() {
            "access_specifier" => public = source[member.byte_range()].starts_with("public"),
            "function_definition" | "field_declaration" | "declaration" if public => {
                methods.extend(cpp_function(member, source, class));
            }
            _ => {}
        }
    }
    Ok(methods)
}

/// A function from its definition or declaration; `None` where the node is something else.
fn cpp_function(node: Node<'_>, source: &str, class: &str) -> Option<Result<Function, String>> {
    let mut declarator = node.child_by_field_name("declarator")?;
    while declarator.kind() != "function_declarator" {
        if !declarator.kind().ends_with("_declarator") {
            return None;
        }
        declarator = last_declarator(declarator)?;
    }
    let name = text_of(declarator, "declarator", source);
    let is_constructor = node.child_by_field_name("type").is_none();
    if is_constructor && name != class {
        // A destructor, a conversion.
        return None;
    }
    let result = if is_constructor {
        String::new()
    } else {
        let written = &source[node.start_byte()..declarator.start_byte()];
        let words = written.split_whitespace().filter(|word| {
            !matches!(
                *word,
                "static" | "inline" | "virtual" | "constexpr" | "[[nodiscard]]"
            )
        });
        words.collect::<Vec<_>>().join(" ")
    };
    let list = declarator.child_by_field_name("parameters")?;
    let mut cursor = list.walk();
    let parameters: Result<Vec<_>, String> = (list.named_children(&mut cursor))
        .filter(|node| node.kind() != "comment")
        .map(|node| cpp_parameter(node, source))
        .collect();
    Some(parameters.map(|parameters| Function {
        name,
        result,
        parameters,
    }))
}

fn last_declarator(node: Node<'_>) -> Option<Node<'_>> {
    node.child_by_field_name("declarator").or_else(|| {
        let count = u32::try_from(node.named_child_count()).ok()?;
        node.named_child(count.checked_sub(1)?)
    })
}

fn cpp_parameter(node: Node<'_>, source: &str) -> Result<Parameter, String> {
    let whole = &source[node.byte_range()];
    if !matches!(
        node.kind(),
        "parameter_declaration" | "optional_parameter_declaration"
    ) {
        return Err(format!("the parameter `{whole}` cannot be read"));
    }
    let ty = node
        .child_by_field_name("type")
        .ok_or_else(|| format!("the parameter `{whole}` has no type"))?;
    let mut by_value = true;
    let mut declarator = node.child_by_field_name("declarator");
    let mut name = None;
    // What stands behind the type: stars, references, the name.
    while let Some(inner) = declarator {
        match inner.kind() {
            "reference_declarator" | "abstract_reference_declarator" => by_value = false,
            "pointer_declarator" | "abstract_pointer_declarator" => {}
            "identifier" => {
                name = Some(inner);
                break;
            }
            _ => return Err(format!("the parameter `{whole}` cannot be read")),
        }
        declarator = last_declarator(inner);
    }
    let end = (node.child_by_field_name("declarator"))
        .map_or(ty.end_byte(), |declarator| declarator.end_byte());
    let written = match name {
        Some(name) => format!(
            "{}{}",
            &source[node.start_byte()..name.start_byte()],
            &source[name.end_byte()..end]
        ),
        None => source[node.start_byte()..end].to_owned(),
    };
    Ok(Parameter {
        name: name.map_or(String::new(), |name| source[name.byte_range()].to_owned()),
        written: written.trim().to_owned(),
        by_value,
    })
}

fn python_function(node: Node<'_>, source: &str, is_method: bool) -> Function {
    let mut parameters = Vec::new();
    if let Some(list) = node.child_by_field_name("parameters") {
        let mut cursor = list.walk();
        for parameter in list.named_children(&mut cursor) {
            let name = match parameter.kind() {
                "identifier" => source[parameter.byte_range()].to_owned(),
                "typed_parameter" => parameter
                    .named_child(0)
                    .map_or(String::new(), |name| source[name.byte_range()].to_owned()),
                "default_parameter" | "typed_default_parameter" => {
                    text_of(parameter, "name", source)
                }
                _ => continue,
            };
            parameters.push(Parameter {
                name,
                written: text_of(parameter, "type", source),
                by_value: false,
            });
        }
    }
    if is_method && !parameters.is_empty() {
        parameters.remove(0);
    }
    Function {
        name: text_of(node, "name", source),
        result: text_of(node, "return_type", source),
        parameters,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(name: &str) -> Target {
        Target::Method(name.into())
    }

    #[test]
    fn a_cpp_method_is_read_with_its_types() {
        let source = "// int wanted(int no)\nclass Solution {\n    int helper(int x) { return x; }\npublic:\n    \
                      static const int N = 3;\n    vector<vector<int>> wanted(const vector<string>& names, ListNode *head, \
                      long long k = 1, unordered_map<int, pair<int, int>> seen) {\n return {}; }\n};";
        let signature = read_cpp(source, &method("wanted")).unwrap();
        let function = &signature.functions[0];
        assert_eq!(function.result, "vector<vector<int>>");
        let read: Vec<_> = (function.parameters.iter())
            .map(|p| (p.name.as_str(), p.written.as_str(), p.by_value))
            .collect();
        assert_eq!(
            read,
            [
                ("names", "const vector<string>&", false),
                ("head", "ListNode *", true),
                ("k", "long long", true),
                ("seen", "unordered_map<int, pair<int, int>>", true)
            ]
        );
        assert!(read_cpp(source, &method("helper")).is_err());
        assert!(read_cpp("int f() {}", &method("wanted")).is_err());
    }

    #[test]
    fn pointers_and_macros_do_not_hide_a_method() {
        let source = "#define ll long long\nstruct Solution { ListNode* f(TreeNode* a, vector<ll>&& b) { return 0; } };";
        let function = &read_cpp(source, &method("f")).unwrap().functions[0];
        assert_eq!(function.result, "ListNode*");
        assert_eq!(function.parameters[1].written, "vector<ll>&&");
        assert!(!function.parameters[1].by_value);
    }

    #[test]
    fn a_template_tells_its_target() {
        let solution = "class Solution {\npublic:\n    int f(int a) {\n        \n    }\n};";
        assert_eq!(target_of_cpp_template(solution), Ok(method("f")));
        let design = "class Cache {\npublic:\n    Cache(int capacity) {\n    }\n    \n    int get(int key) {\n    }\n    \
                      void put(int key, int value) {\n    }\n};\n/**\n * Cache* obj = new Cache(capacity);\n */";
        let target = target_of_cpp_template(design).unwrap();
        assert_eq!(target, Target::Design("Cache".into()));
        let signature = read_cpp(design, &target).unwrap();
        let names: Vec<_> = signature
            .functions
            .iter()
            .map(|f| f.name.as_str())
            .collect();
        assert_eq!(names, ["Cache", "get", "put"]);
        assert!(signature.functions[2].is_void());
        let shuffle = "class Solution {\npublic:\n    Solution(vector<int>& nums) {}\n    vector<int> reset() {}\n};";
        assert_eq!(
            target_of_cpp_template(shuffle),
            Ok(Target::Design("Solution".into()))
        );
        assert!(target_of_cpp_template("int f(int x) {}").is_err());
    }

    #[test]
    fn node_definitions_are_found_in_comments() {
        let block = "/*\n// Definition for a Node.\nclass Node {\npublic:\n    int val;\n    Node* next;\n};\n*/\n\
                     class Solution {};";
        let found = commented_definitions(block);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "Node");
        assert!(
            found[0].1.starts_with("class Node {") && found[0].1.ends_with("};"),
            "{}",
            found[0].1
        );
        let stars = "/**\n * Definition for a binary tree node.\n * struct TreeNode {\n *     int val;\n * };\n */\nclass S {};";
        assert_eq!(commented_definitions(stars)[0].0, "TreeNode");
        let lines = "// Definition\n// struct A {\n//   int x;\n// };\nclass S {};";
        assert_eq!(commented_definitions(lines)[0].0, "A");
        assert!(defines_cpp_class(lines, "S") && !defines_cpp_class(lines, "A"));
    }

    #[test]
    fn a_python_method_is_read_with_its_annotations() {
        let source = "class Other:\n    def f(self, x): pass\nclass Solution:\n    @cache\n    def f(self, head: Optional[ListNode], k: int = 1, \
                      *rest) -> List[int]:\n        pass\n    def g(self): pass\n";
        let function = &read_python(source, &method("f")).unwrap().functions[0];
        assert_eq!(function.result, "List[int]");
        let read: Vec<_> = (function.parameters.iter())
            .map(|p| (p.name.as_str(), p.written.as_str()))
            .collect();
        assert_eq!(read, [("head", "Optional[ListNode]"), ("k", "int")]);
        assert!(read_python(source, &method("h")).is_err());
        let top = read_python("def f(a, b): pass", &Target::Function("f".into())).unwrap();
        assert_eq!(top.functions[0].parameters.len(), 2);
        let design = read_python(source, &Target::Design("Solution".into())).unwrap();
        assert_eq!(design.functions.len(), 2);
    }

    #[test]
    fn broken_sources_do_not_run_away() {
        let long = "{".repeat(200_000);
        for source in [
            "class Solution {",
            "}}}}",
            "class Solution { int f( };",
            &long,
        ] {
            let _ = read_cpp(source, &method("f"));
            let _ = read_python(source, &method("f"));
            let _ = commented_definitions(source);
        }
    }
}
