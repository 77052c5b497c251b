//! Tests of recipes and of what needs no network.

use super::recipe::Code;
use super::tree::matches;

const GOOD: &str = r#"# A code for tests.
name = "good"
languages = ["c", "c++"]
traits = ["p2p-only"]
source = "apt:hello"
program = "src/hello"
arguments = ["-n", "{np}"]
scales = [2, 4]
scaling = "weak"
seconds = 1.0
patch = ["src/*.c"]
[arguments_by_scale]
4 = ["-x"]
"#;

fn error(text: &str) -> String {
    Code::read("good", text).expect_err("the recipe is wrong")
}

#[test]
fn a_recipe_gives_arguments_by_scale_and_says_why_it_is_there() {
    let code = Code::read("good", GOOD).expect("a good recipe");
    assert_eq!(code.why, "A code for tests.");
    assert_eq!(code.arguments(2), ["-n", "2"]);
    assert_eq!(code.arguments(4), ["-x"]);
    assert_eq!(code.threads, 1);
    assert_eq!(code.describe()[1], "C, C++");
}

#[test]
fn a_wrong_recipe_gives_one_line_that_says_what_is_wrong() {
    let without = |line: &str| GOOD.replace(line, "");
    let with = |old: &str, new: &str| GOOD.replace(old, new);
    let cases = [
        (without("seconds = 1.0\n"), "missing field `seconds`"),
        (with("seconds = 1.0", "seconds = -1.0"), "seconds must be"),
        (with("\"weak\"", "\"medium\""), "unknown variant `medium`"),
        (
            with("apt:hello", "ftp:hello"),
            "source \"ftp:hello\" is not",
        ),
        (with("apt:hello", "apt:-o x"), "source \"apt:-o x\" is not"),
        (with("apt:hello", "pypi:hello"), "pypi:NAME==VERSION"),
        (with("[2, 4]", "[4, 2]"), "scales must be increasing"),
        (with("4 = ", "8 = "), "arguments_by_scale has 8"),
        (with("src/*.c", "../x.c"), "\"../x.c\" leaves the tree"),
        (with("scales =", "scale ="), "unknown field `scale`"),
        (with("\"good\"", "\"other\""), "the name is \"other\""),
        (with("# A code for tests.\n", ""), "no comment at the head"),
        ("name = [".to_string(), "recipe good.toml: "),
    ];
    for (text, part) in cases {
        let said = error(&text);
        assert!(said.contains(part), "{said}");
        assert!(said.starts_with("recipe good.toml: "), "{said}");
        assert!(!said.contains('\n'), "{said}");
    }
    let said = error(&with("\"weak\"", "\"medium\""));
    assert!(said.contains("line 9: "), "{said}");
}

#[test]
fn all_recipes_can_be_read() {
    let all = Code::all().expect("recipes");
    assert!(!all.is_empty());
}

#[test]
fn a_star_is_any_part_of_a_name() {
    assert!(matches("*.c", "a.c") && matches("dgraph_*_x*.c", "dgraph_a_x2.c"));
    assert!(!matches("*.c", "a.cc") && !matches("a*", "ba") && matches("a", "a"));
}
