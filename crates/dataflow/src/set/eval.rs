//! Evaluates expressions for rows of a table, column by column.

use super::expr::{Expr, Function, Node, Operator};
use super::{SetError, glob};
use headwater_graph::view::{Column, Table, Words};
use std::cmp::Ordering;

/// The values of a part of an expression, for all rows.
enum Values<'a> {
    /// One figure for all rows.
    Number(f64),
    /// One word for all rows.
    Text(&'a str),
    /// Figures; NaN where missing.
    Numbers(Vec<f64>),
    /// Words of a column.
    Words(&'a Words),
    /// Whether something holds.
    Truth(Vec<bool>),
}

impl Values<'_> {
    fn words(&self) -> &'static str {
        match self {
            Self::Number(_) | Self::Numbers(_) => "a figure",
            Self::Text(_) | Self::Words(_) => "a word",
            Self::Truth(_) => "true or false",
        }
    }
}

struct Work<'a> {
    expression: &'a Expr,
    table: &'a Table,
    rows: &'a [u32],
}

impl Expr {
    /// For each row: whether the expression holds.
    ///
    /// # Errors
    /// If it names an attribute that does not exist, mixes figures and words, or is not true or false.
    pub fn holds(&self, table: &Table, rows: &[u32]) -> Result<Vec<bool>, SetError> {
        let work = Work {
            expression: self,
            table,
            rows,
        };
        let values = work.values(&self.root)?;
        work.truth(values)
    }

    /// The value of the expression for each row; NaN where it is missing.
    ///
    /// # Errors
    /// If it names an attribute that does not exist, mixes figures and words, or is not a figure.
    pub fn numbers(&self, table: &Table, rows: &[u32]) -> Result<Vec<f64>, SetError> {
        let work = Work {
            expression: self,
            table,
            rows,
        };
        let values = work.values(&self.root)?;
        work.numbers(values)
    }
}

impl<'a> Work<'a> {
    fn wrong(&self, what: String) -> SetError {
        SetError::Kinds(self.expression.text.clone(), what)
    }

    fn truth(&self, values: Values<'a>) -> Result<Vec<bool>, SetError> {
        match values {
            Values::Truth(t) => Ok(t),
            other => Err(self.wrong(format!(
                "{} is used where true or false is needed",
                other.words()
            ))),
        }
    }

    fn numbers(&self, values: Values<'a>) -> Result<Vec<f64>, SetError> {
        match values {
            Values::Number(x) => Ok(vec![x; self.rows.len()]),
            Values::Numbers(all) => Ok(all),
            other => Err(self.wrong(format!(
                "{} is used where a figure is needed",
                other.words()
            ))),
        }
    }

    fn values(&self, node: &'a Node) -> Result<Values<'a>, SetError> {
        Ok(match node {
            Node::Number(x) => Values::Number(*x),
            Node::Text(text) => Values::Text(text),
            Node::Attribute(name) => self.attribute(name)?,
            Node::Not(inner) => {
                let mut matches = self.truth(self.values(inner)?)?;
                matches.iter_mut().for_each(|h| *h = !*h);
                Values::Truth(matches)
            }
            Node::Negative(inner) => {
                let mut all = self.numbers(self.values(inner)?)?;
                all.iter_mut().for_each(|x| *x = -*x);
                Values::Numbers(all)
            }
            Node::In(inner, list) => {
                let mut matches = vec![false; self.rows.len()];
                for item in list {
                    let value = self.values(inner)?;
                    let alike = self.compare(Operator::Equal, value, self.values(item)?)?;
                    matches.iter_mut().zip(alike).for_each(|(h, a)| *h |= a);
                }
                Values::Truth(matches)
            }
            Node::Call(function, arguments) => self.call(*function, arguments)?,
            Node::Binary(..) => self.chain(node)?,
        })
    }

    fn attribute(&self, name: &str) -> Result<Values<'a>, SetError> {
        match self.table.get(name) {
            None => Err(SetError::no_attribute(name, self.table)),
            Some(Column::Text(words)) => Ok(Values::Words(words)),
            Some(column) => {
                let value = |row: &u32| column.number(*row as usize).unwrap_or(f64::NAN);
                Ok(Values::Numbers(self.rows.iter().map(value).collect()))
            }
        }
    }

    /// Evaluates a sequence of operators, as in `a + b + c`, in a loop: there may be many.
    fn chain(&self, node: &'a Node) -> Result<Values<'a>, SetError> {
        let (mut first, mut rest) = (node, Vec::new());
        while let Node::Binary(operator, left, right) = first {
            rest.push((*operator, right));
            first = left;
        }
        let mut out = self.values(first)?;
        for (operator, right) in rest.into_iter().rev() {
            out = self.binary(operator, out, self.values(right)?)?;
        }
        Ok(out)
    }

    fn binary(
        &self,
        operator: Operator,
        a: Values<'a>,
        b: Values<'a>,
    ) -> Result<Values<'a>, SetError> {
        use Operator::*;
        let figures = |a, b, f: fn(f64, f64) -> f64| {
            let (a, b) = (self.numbers(a)?, self.numbers(b)?);
            let both = a.into_iter().zip(b).map(|(a, b)| f(a, b));
            Ok(Values::Numbers(both.collect()))
        };
        let truths = |a, b, f: fn(bool, bool) -> bool| {
            let (a, b) = (self.truth(a)?, self.truth(b)?);
            let both = a.into_iter().zip(b).map(|(a, b)| f(a, b));
            Ok(Values::Truth(both.collect()))
        };
        match operator {
            Or => truths(a, b, |a, b| a || b),
            And => truths(a, b, |a, b| a && b),
            Add => figures(a, b, |a, b| a + b),
            Subtract => figures(a, b, |a, b| a - b),
            Multiply => figures(a, b, |a, b| a * b),
            Divide => figures(a, b, |a, b| a / b),
            _ => Ok(Values::Truth(self.compare(operator, a, b)?)),
        }
    }

    fn compare(
        &self,
        operator: Operator,
        a: Values<'a>,
        b: Values<'a>,
    ) -> Result<Vec<bool>, SetError> {
        match (a, b) {
            (Values::Words(words), Values::Text(text)) => self.each_word(operator, words, text),
            (Values::Text(text), Values::Words(words))
                if !matches!(operator, Operator::Like | Operator::Unlike) =>
            {
                self.each_word(turned(operator), words, text)
            }
            (Values::Words(a), Values::Words(b)) => {
                let test = self.word_test(operator)?;
                let of = |row: &u32| Some(test(a.get(*row as usize)?, b.get(*row as usize)?));
                Ok(self.rows.iter().map(|r| of(r).unwrap_or(false)).collect())
            }
            (Values::Text(a), Values::Text(b)) => {
                Ok(vec![self.word_test(operator)?(a, b); self.rows.len()])
            }
            (a, b) if matches!(operator, Operator::Like | Operator::Unlike) => Err(self.wrong(
                format!("~ compares words, not {} with {}", a.words(), b.words()),
            )),
            (a @ (Values::Words(_) | Values::Text(_)), b)
            | (a, b @ (Values::Words(_) | Values::Text(_))) => {
                Err(self.wrong(format!("{} is compared with {}", a.words(), b.words())))
            }
            (a, b) => {
                let (a, b) = (self.numbers(a)?, self.numbers(b)?);
                let test: fn(&f64, &f64) -> bool = match operator {
                    Operator::Less => |a, b| a < b,
                    Operator::LessEqual => |a, b| a <= b,
                    Operator::Greater => |a, b| a > b,
                    Operator::GreaterEqual => |a, b| a >= b,
                    Operator::Equal => |a, b| a == b,
                    _ => |a, b| a.partial_cmp(b).is_some_and(Ordering::is_ne),
                };
                Ok(a.iter().zip(&b).map(|(a, b)| test(a, b)).collect())
            }
        }
    }

    fn word_test(&self, operator: Operator) -> Result<fn(&str, &str) -> bool, SetError> {
        Ok(match operator {
            Operator::Like => |a, b| glob(b, a),
            Operator::Unlike => |a, b| !glob(b, a),
            Operator::Less => |a, b| a < b,
            Operator::LessEqual => |a, b| a <= b,
            Operator::Greater => |a, b| a > b,
            Operator::GreaterEqual => |a, b| a >= b,
            Operator::Equal => |a, b| a == b,
            Operator::Unequal => |a, b| a != b,
            _ => return Err(self.wrong("words cannot be added".to_string())),
        })
    }

    /// Each different word is compared once.
    fn each_word(
        &self,
        operator: Operator,
        words: &Words,
        text: &str,
    ) -> Result<Vec<bool>, SetError> {
        let test = self.word_test(operator)?;
        let known: Vec<bool> = words.dictionary().map(|w| test(w, text)).collect();
        let of = |row: &u32| {
            words
                .code(*row as usize)
                .and_then(|c| known.get(c))
                .copied()
        };
        Ok(self.rows.iter().map(|r| of(r).unwrap_or(false)).collect())
    }

    fn call(&self, function: Function, arguments: &'a [Node]) -> Result<Values<'a>, SetError> {
        let mut given = arguments.iter().map(|a| self.values(a));
        let mut next = || {
            let missing = || Err(self.wrong("an argument is missing".to_string()));
            given.next().unwrap_or_else(missing)
        };
        let one = |value, f: fn(f64) -> f64| {
            let all = self.numbers(value)?;
            Ok(Values::Numbers(all.into_iter().map(f).collect()))
        };
        match function {
            Function::Abs => one(next()?, f64::abs),
            Function::Sqrt => one(next()?, f64::sqrt),
            Function::Min | Function::Max => {
                let (a, b) = (self.numbers(next()?)?, self.numbers(next()?)?);
                let least = function == Function::Min;
                let pick = |(a, b): (f64, f64)| match (a.is_nan() || b.is_nan(), least) {
                    (true, _) => f64::NAN,
                    (false, true) => a.min(b),
                    (false, false) => a.max(b),
                };
                Ok(Values::Numbers(a.into_iter().zip(b).map(pick).collect()))
            }
            Function::Known => {
                let n = self.rows.len();
                Ok(Values::Truth(match next()? {
                    Values::Words(w) => {
                        let there = |row: &u32| w.get(*row as usize).is_some();
                        self.rows.iter().map(there).collect()
                    }
                    Values::Numbers(all) => all.iter().map(|x| !x.is_nan()).collect(),
                    _ => vec![true; n],
                }))
            }
        }
    }
}

/// The comparison with its sides swapped.
fn turned(operator: Operator) -> Operator {
    use Operator::*;
    match operator {
        Less => Greater,
        LessEqual => GreaterEqual,
        Greater => Less,
        GreaterEqual => LessEqual,
        other => other,
    }
}
