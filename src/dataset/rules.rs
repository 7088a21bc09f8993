//! The rule of judging as files write it: `{"rule": "tokens", "absolute": 1e-6}`.
use super::Value;
use super::value::as_float;
use crate::dataset::Language;
use crate::verdict::{Checker, Comparison, Judging, NanPolicy, Order, Tolerance, ValueRules};

/// Reads a rule; `default` where the name is absent.
///
/// # Errors
/// What is wrong.
pub(super) fn read(value: &Value, default: &str) -> Result<Judging, String> {
    let Value::Map(entries) = value else {
        return Err("is not an object".into());
    };
    let mut known = Vec::new();
    let mut get = |name: &'static str| {
        known.push(name);
        let found = entries
            .iter()
            .find(|(key, _)| *key == Value::Text(name.into()));
        found.map(|(_, value)| value)
    };
    let rule = match get("rule") {
        None => default,
        Some(Value::Text(name)) => name,
        Some(_) => return Err("`rule` is not text".into()),
    };
    let mut number = |name: &'static str| match get(name) {
        None => Ok(None),
        Some(value) => match as_float(value) {
            Some(number) if number >= 0.0 => Ok(Some(number)),
            _ => Err(format!("`{name}` is not a number from 0 on")),
        },
    };
    let absolute = number("absolute")?;
    let relative = number("relative")?;
    let mut word = |name: &'static str| match get(name) {
        None => Ok(None),
        Some(Value::Text(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(format!("`{name}` is not text")),
    };
    let nan = match word("nan")? {
        None | Some("equal") => NanPolicy::Equal,
        Some("different") => NanPolicy::Different,
        Some(other) => return Err(format!("`nan` is `equal` or `different`, not `{other}`")),
    };
    let order = match word("order")? {
        None | Some("counts") => Order::Counts,
        Some("outer-free") => Order::OuterFree,
        Some("free") => Order::Free,
        Some("sets") => Order::Sets,
        Some(other) => {
            return Err(format!(
                "`order` is `counts`, `outer-free`, `free` or `sets`, not `{other}`"
            ));
        }
    };
    let language = word("language")?;
    let source = word("source")?;
    let sequences_alike = match get("sequences_alike") {
        None => true,
        Some(Value::Bool(value)) => *value,
        Some(_) => return Err("`sequences_alike` is not a truth value".into()),
    };
    for (key, _) in entries {
        if !known.iter().any(|name| *key == Value::Text((*name).into())) {
            return Err(format!(
                "unknown entry {key}; the entries are `{}`",
                known.join("`, `")
            ));
        }
    }
    let tolerance = (absolute.is_some() || relative.is_some()).then(|| Tolerance {
        absolute: absolute.unwrap_or(0.0),
        relative: relative.unwrap_or(0.0),
    });
    Ok(match rule {
        "exact" => Judging::Exact,
        "tokens" => Judging::Tokens(Comparison { tolerance, nan }),
        "values" => Judging::Values(ValueRules {
            absolute: absolute.unwrap_or(0.0),
            relative: relative.unwrap_or(0.0),
            sequences_alike,
            order,
            node_by_value: false,
        }),
        "presence" => Judging::Presence,
        "checker" => Judging::Checker(Checker {
            language: match language {
                Some("cpp") => Language::Cpp,
                Some("python") => Language::Python,
                _ => return Err("a checker needs `language`: `cpp` or `python`".into()),
            },
            source: source.ok_or("a checker needs its `source`")?.to_owned(),
        }),
        other => {
            return Err(format!(
                "`{other}` is no rule; the rules are `exact`, `tokens`, `values`, `presence` and `checker`"
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Result<Judging, String> {
        read(&Value::parse(text).unwrap(), "tokens")
    }

    #[test]
    fn every_rule_can_be_written() {
        assert_eq!(rule("{}"), Ok(Judging::default()));
        assert_eq!(rule("{\"rule\": \"exact\"}"), Ok(Judging::Exact));
        let Ok(Judging::Tokens(comparison)) = rule("{\"relative\": 1e-6, \"nan\": \"different\"}")
        else {
            panic!("no tokens");
        };
        assert_eq!(comparison.nan, NanPolicy::Different);
        assert_eq!(
            comparison.tolerance.map(|t| (t.absolute, t.relative)),
            Some((0.0, 1e-6))
        );
        let values =
            rule("{\"rule\": \"values\", \"order\": \"free\", \"sequences_alike\": false}");
        assert!(
            matches!(values, Ok(Judging::Values(r)) if r.order == Order::Free && !r.sequences_alike)
        );
        let checker = "{\"rule\": \"checker\", \"language\": \"python\", \"source\": \"pass\"}";
        assert!(matches!(rule(checker), Ok(Judging::Checker(_))));
    }

    #[test]
    fn what_is_no_rule_is_said() {
        for (text, part) in [
            ("[]", "not an object"),
            ("{\"rule\": \"near\"}", "`near` is no rule"),
            ("{\"rule\": \"checker\"}", "needs `language`"),
            ("{\"absolute\": -1}", "from 0 on"),
            ("{\"tolerance\": 1}", "unknown entry"),
            ("{\"order\": \"any\"}", "outer-free"),
        ] {
            assert!(rule(text).unwrap_err().contains(part), "{text}");
        }
    }
}
