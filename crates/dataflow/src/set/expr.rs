//! Expressions over attributes: `time > 0.1 and name ~ "MPI_*"`, `wait / mpi`.
//!
//! ```text
//! or        a or b                         at the lowest level
//! and       a and b
//! not       not a
//! compare   a < b, <=, >, >=, ==, !=       figures or words
//!           a ~ "glob", a !~ "glob"        words
//!           a in ("x", "y")                words or figures
//! sum       a + b, a - b
//! product   a * b, a / b
//! single    1.5e-3, "word", 'word', name, `any name`, -a, (a), abs(a), sqrt(a), min(a, b), max(a, b), known(a)
//! ```
//! A comparison with a missing value does not hold; `known(a)` tests whether a value is there.

use super::SetError;

/// An expression that has been read.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub(super) text: String,
    pub(super) root: Node,
}

/// A part of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Number(f64),
    Text(String),
    Attribute(String),
    Not(Box<Node>),
    Negative(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    In(Box<Node>, Vec<Node>),
    Call(Function, Vec<Node>),
}

/// What joins two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    Unequal,
    Like,
    Unlike,
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Functions that expressions know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Abs,
    Sqrt,
    Min,
    Max,
    Known,
}

const FUNCTIONS: [(&str, Function, usize); 5] = [
    ("abs", Function::Abs, 1),
    ("sqrt", Function::Sqrt, 1),
    ("min", Function::Min, 2),
    ("max", Function::Max, 2),
    ("known", Function::Known, 1),
];

/// Operators by level, the loosest first; `not` is between `and` and the comparisons.
const LEVELS: [&[(&str, Operator)]; 5] = [
    &[("or", Operator::Or)],
    &[("and", Operator::And)],
    &[
        ("<=", Operator::LessEqual),
        (">=", Operator::GreaterEqual),
        ("==", Operator::Equal),
        ("!=", Operator::Unequal),
        ("!~", Operator::Unlike),
        ("<", Operator::Less),
        (">", Operator::Greater),
        ("~", Operator::Like),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("/", Operator::Divide)],
];

const COMPARE: usize = 2;

/// An expression has at most this many operators: each is inside the next one, and too many would use up the stack.
const MOST_OPERATORS: usize = 500;

/// Greatest nesting depth of parentheses and signs: a deeper one is a mistake, and would use up the stack.
const DEEPEST: usize = 100;

impl Expr {
    /// Reads an expression.
    ///
    /// # Errors
    /// If the expression is wrong: what, and in which column.
    pub fn parse(text: &str) -> Result<Self, SetError> {
        let mut parser = Parser {
            text,
            at: 0,
            depth: 0,
            operators: 0,
        };
        let root = parser.level(0)?;
        parser.space();
        if parser.at < text.len() {
            return Err(parser.wrong("the expression goes on where it should end"));
        }
        Ok(Self {
            text: text.to_string(),
            root,
        })
    }

    /// `attribute ~ pattern`, for a name by pattern.
    pub fn like(attribute: &str, pattern: &str) -> Self {
        let attribute_node = Node::Attribute(attribute.to_string());
        let pattern_node = Node::Text(pattern.to_string());
        Self {
            text: format!("{attribute} ~ \"{pattern}\""),
            root: Node::Binary(
                Operator::Like,
                Box::new(attribute_node),
                Box::new(pattern_node),
            ),
        }
    }

    /// `attribute in (values)`, for one of several words or figures, however many; without any it never holds.
    pub fn one_of(attribute: &str, words: Vec<String>, figures: Vec<f64>) -> Self {
        let said = words.iter().map(|w| format!("{w:?}"));
        let said: Vec<String> = said.chain(figures.iter().map(f64::to_string)).collect();
        let figures = figures.into_iter().map(Node::Number);
        let all = words.into_iter().map(Node::Text).chain(figures).collect();
        Self {
            text: format!("{attribute} in ({})", said.join(", ")),
            root: Node::In(Box::new(Node::Attribute(attribute.to_string())), all),
        }
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    operators: usize,
}

impl<'a> Parser<'a> {
    fn wrong(&self, what: &str) -> SetError {
        let column = self.text[..self.at].chars().count() + 1;
        SetError::Expression(self.text.to_string(), column, what.to_string())
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Reads `token` if it is next; a word only if it ends there.
    fn take(&mut self, token: &str) -> bool {
        self.space();
        let Some(after) = self.rest().strip_prefix(token) else {
            return false;
        };
        let is_word = token.chars().all(char::is_alphanumeric);
        if is_word && after.chars().next().is_some_and(in_name) {
            return false;
        }
        self.at += token.len();
        true
    }

    fn level(&mut self, level: usize) -> Result<Node, SetError> {
        let Some(operators) = LEVELS.get(level) else {
            return self.single();
        };
        if level == COMPARE && self.take("not") {
            self.deeper()?;
            let inner = self.level(COMPARE)?;
            self.depth -= 1;
            return Ok(Node::Not(Box::new(inner)));
        }
        let mut left = self.level(level + 1)?;
        loop {
            if level == COMPARE && self.take("in") {
                self.one_more()?;
                left = Node::In(Box::new(left), self.list()?);
                continue;
            }
            let Some((_, operator)) = operators.iter().find(|o| self.take(o.0)) else {
                return Ok(left);
            };
            self.one_more()?;
            let right = self.level(level + 1)?;
            left = Node::Binary(*operator, Box::new(left), Box::new(right));
        }
    }

    fn one_more(&mut self) -> Result<(), SetError> {
        self.operators += 1;
        if self.operators > MOST_OPERATORS {
            let what = format!(
                "it has more than {MOST_OPERATORS} operators; use lists (name in (…)) or several filters"
            );
            return Err(self.wrong(&what));
        }
        Ok(())
    }

    fn deeper(&mut self) -> Result<(), SetError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong("it is nested too deep"));
        }
        Ok(())
    }

    /// `(a, b, …)`.
    fn list(&mut self) -> Result<Vec<Node>, SetError> {
        if !self.take("(") {
            return Err(self.wrong("a list in parentheses is needed here"));
        }
        self.deeper()?;
        let mut all = Vec::new();
        loop {
            all.push(self.level(0)?);
            if self.take(")") {
                self.depth -= 1;
                return Ok(all);
            }
            if !self.take(",") {
                return Err(self.wrong("a comma or a closing parenthesis is needed here"));
            }
        }
    }

    fn single(&mut self) -> Result<Node, SetError> {
        self.space();
        let Some(first) = self.rest().chars().next() else {
            return Err(self.wrong("a figure, a word in quotes or an attribute is missing"));
        };
        match first {
            '(' => {
                self.at += 1;
                self.deeper()?;
                let inner = self.level(0)?;
                self.depth -= 1;
                if !self.take(")") {
                    return Err(self.wrong("a closing parenthesis is missing"));
                }
                Ok(inner)
            }
            '-' => {
                self.at += 1;
                self.deeper()?;
                let inner = self.single()?;
                self.depth -= 1;
                Ok(Node::Negative(Box::new(inner)))
            }
            '"' | '\'' => Ok(Node::Text(self.quoted(first)?)),
            '`' => Ok(Node::Attribute(self.quoted(first)?)),
            c if c.is_ascii_digit() || c == '.' => self.number(),
            c if c.is_alphabetic() || c == '_' => self.name(),
            _ => Err(self.wrong("this cannot begin a figure, a word or an attribute")),
        }
    }

    fn quoted(&mut self, quote: char) -> Result<String, SetError> {
        let rest = &self.rest()[quote.len_utf8()..];
        let Some(end) = rest.find(quote) else {
            return Err(self.wrong("the quotation mark is not closed"));
        };
        self.at += end + 2 * quote.len_utf8();
        Ok(rest[..end].to_string())
    }

    fn number(&mut self) -> Result<Node, SetError> {
        let rest = self.rest();
        let mut end = 0;
        for (i, c) in rest.char_indices() {
            let sign = matches!(c, '+' | '-') && rest[..i].ends_with(['e', 'E']);
            if !(c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E') || sign) {
                break;
            }
            end = i + c.len_utf8();
        }
        match rest[..end].parse() {
            Ok(value) => {
                self.at += end;
                Ok(Node::Number(value))
            }
            Err(_) => Err(self.wrong("this is not a figure")),
        }
    }

    fn name(&mut self) -> Result<Node, SetError> {
        let rest = self.rest();
        let end = rest.find(|c| !in_name(c)).unwrap_or(rest.len());
        let name = &rest[..end];
        let before = self.at;
        self.at += end;
        self.space();
        if !self.rest().starts_with('(') {
            return Ok(Node::Attribute(name.to_string()));
        }
        let Some((_, function, arguments)) = FUNCTIONS.iter().find(|f| f.0 == name) else {
            self.at = before;
            let names = FUNCTIONS.map(|f| f.0).join(", ");
            return Err(self.wrong(&format!("there is no function {name}; there are {names}")));
        };
        let given = self.list()?;
        if given.len() != *arguments {
            self.at = before;
            let (n, given) = (arguments, given.len());
            return Err(self.wrong(&format!("{name} takes {n} and not {given}")));
        }
        Ok(Node::Call(*function, given))
    }
}

fn in_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}
