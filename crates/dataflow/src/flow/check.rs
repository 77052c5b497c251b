//! Checks before a flow runs whether it can run: arguments, kinds, parameters, cycles.

use super::{Flow, FlowError, Gives, Kind, Link, Of, Parameters, Pass, Work};

/// A checked flow: the kinds of what each node returns, and an order in which to run.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    /// By node: what it returns.
    pub(crate) gives: Vec<Vec<Kind>>,
    /// Steps of nodes; each node needs only nodes of earlier steps.
    pub(crate) steps: Vec<Vec<usize>>,
}

impl Flow {
    /// Checks the flow as a whole.
    ///
    /// # Errors
    /// The first thing that is wrong, in the order of the nodes; see [`FlowError`].
    pub fn check(&self) -> Result<(), FlowError> {
        self.checked().map(drop)
    }

    /// What flows along a link, as far as that is known before running.
    ///
    /// # Errors
    /// As [`Flow::check`]; or a link that is not there.
    pub fn kind(&self, link: Link) -> Result<Kind, FlowError> {
        let checked = self.checked()?;
        self.given("the dataflow", &self.name, link, &checked.gives)
    }

    pub(crate) fn checked(&self) -> Result<Checked, FlowError> {
        let steps = self.steps()?;
        let mut gives: Vec<Vec<Kind>> = vec![Vec::new(); self.nodes.len()];
        for &i in steps.iter().flatten() {
            let given = self.node_gives(i, &gives)?;
            gives[i] = given;
        }
        for (name, link) in &self.outputs {
            self.given("the dataflow", name, *link, &gives)?;
        }
        Ok(Checked { gives, steps })
    }

    /// The name of a node in messages.
    pub(crate) fn label(&self, i: usize) -> String {
        match self.nodes.get(i).map(|n| &n.work) {
            Some(Work::Input { name, .. }) => format!("input {name}"),
            Some(Work::Pass { pass, .. }) => pass.name.to_string(),
            Some(Work::Repeat { body, .. }) => format!("repeat {}", body.name),
            None => "a pass that is not there".to_string(),
        }
    }

    /// Nodes by their distance from the inputs.
    fn steps(&self) -> Result<Vec<Vec<usize>>, FlowError> {
        let mut needs: Vec<usize> = vec![0; self.nodes.len()];
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for (i, node) in self.nodes.iter().enumerate() {
            for link in &node.inputs {
                if let Some(of) = users.get_mut(link.node.0) {
                    of.push(i);
                    needs[i] += 1;
                }
            }
        }
        let ready = |i: &usize| needs.get(*i).is_some_and(|n| *n == 0);
        let mut step: Vec<usize> = (0..self.nodes.len()).filter(ready).collect();
        let mut steps = Vec::new();
        while !step.is_empty() {
            let mut next = Vec::new();
            for user in step.iter().flat_map(|i| &users[*i]) {
                needs[*user] -= 1;
                if needs[*user] == 0 {
                    next.push(*user);
                }
            }
            next.sort_unstable();
            steps.push(std::mem::replace(&mut step, next));
        }
        match needs.iter().position(|n| *n > 0) {
            None => Ok(steps),
            Some(_) => Err(FlowError::Cycle(self.circle(&needs))),
        }
    }

    /// Names of the passes of a cycle, among nodes that still need others.
    fn circle(&self, needs: &[usize]) -> String {
        // Every such node needs another one, so on the way back some node occurs twice.
        let stuck = |i: &usize| needs.get(*i).is_some_and(|n| *n > 0);
        let mut path: Vec<usize> = Vec::new();
        let mut at = (0..needs.len()).find(stuck);
        while let Some(i) = at {
            if let Some(begin) = path.iter().position(|p| *p == i) {
                let mut names: Vec<String> =
                    path[begin..].iter().rev().map(|p| self.label(*p)).collect();
                names.extend(names.first().cloned());
                return names.join(" → ");
            }
            path.push(i);
            let inputs = self.nodes[i].inputs.iter().map(|l| l.node.0);
            at = inputs.into_iter().find(stuck);
        }
        String::new()
    }

    /// What flows along a link.
    fn given(
        &self,
        user: &str,
        argument: &str,
        link: Link,
        gives: &[Vec<Kind>],
    ) -> Result<Kind, FlowError> {
        let all = gives.get(link.node.0).map_or(&[][..], Vec::as_slice);
        all.get(link.output).copied().ok_or_else(|| {
            FlowError::NoSuchOutput(
                user.to_string(),
                argument.to_string(),
                self.label(link.node.0),
                all.len(),
                link.output,
            )
        })
    }

    fn node_gives(&self, i: usize, gives: &[Vec<Kind>]) -> Result<Vec<Kind>, FlowError> {
        let node = &self.nodes[i];
        match &node.work {
            Work::Input { kind, .. } => Ok(vec![*kind]),
            Work::Pass { pass, parameters } => {
                check_parameters(pass, parameters)?;
                let given = self.arguments(i, pass, gives)?;
                let kind = |g: &Gives| match g {
                    Gives::Kind(kind) => *kind,
                    Gives::AsArgument(n) => given.get(*n).copied().unwrap_or(Kind::Set(Of::Any)),
                };
                Ok(pass.outputs.iter().map(kind).collect())
            }
            Work::Repeat { body, .. } => {
                let inside = body.checked()?;
                let wanted: Vec<(&str, Kind)> = body.inputs().collect();
                let outputs = &body.outputs;
                if outputs.is_empty() || outputs.len() > wanted.len() {
                    let name = body.name.clone();
                    return Err(FlowError::NotRepeatable(name, outputs.len(), wanted.len()));
                }
                let user = self.label(i);
                for (n, (name, kind)) in wanted.iter().enumerate() {
                    let Some(link) = node.inputs.get(n) else {
                        return Err(FlowError::NotGiven(user, (*name).to_string(), *kind));
                    };
                    let given = self.given(&user, name, *link, gives)?;
                    self.fits(&user, name, *kind, given, link.node.0)?;
                }
                if node.inputs.len() > wanted.len() {
                    return Err(FlowError::TooMany(user, wanted.len(), node.inputs.len()));
                }
                for ((name, link), (_, kind)) in outputs.iter().zip(&wanted) {
                    let given = body.given("the dataflow", name, *link, &inside.gives)?;
                    body.fits(&user, name, *kind, given, link.node.0)?;
                }
                Ok(wanted.iter().take(outputs.len()).map(|w| w.1).collect())
            }
        }
    }

    fn fits(
        &self,
        user: &str,
        argument: &str,
        needs: Kind,
        given: Kind,
        by: usize,
    ) -> Result<(), FlowError> {
        if needs.takes(given) {
            return Ok(());
        }
        Err(FlowError::WrongKind(
            user.to_string(),
            argument.to_string(),
            needs,
            given,
            self.label(by),
        ))
    }

    fn arguments(
        &self,
        i: usize,
        pass: &Pass,
        gives: &[Vec<Kind>],
    ) -> Result<Vec<Kind>, FlowError> {
        let inputs = &self.nodes[i].inputs;
        if let Some(port) = pass.inputs.get(inputs.len()) {
            let (user, name) = (pass.name.to_string(), port.name.to_string());
            return Err(FlowError::NotGiven(user, name, port.kind));
        }
        let mut out = Vec::new();
        for (n, link) in inputs.iter().enumerate() {
            let Some(port) = pass.argument(n) else {
                let (most, given) = (pass.inputs.len(), inputs.len());
                return Err(FlowError::TooMany(pass.name.to_string(), most, given));
            };
            let given = self.given(&pass.name, &port.name, *link, gives)?;
            self.fits(&pass.name, &port.name, port.kind, given, link.node.0)?;
            out.push(given);
        }
        Ok(out)
    }
}

pub(super) fn check_parameters(pass: &Pass, given: &Parameters) -> Result<(), FlowError> {
    for (name, value) in &given.0 {
        let declared = pass.parameters.iter().find(|d| d.name == *name);
        let Some(declared) = declared else {
            let names: Vec<&str> = pass.parameters.iter().map(|d| &*d.name).collect();
            let names = if names.is_empty() {
                "none".to_string()
            } else {
                names.join(", ")
            };
            return Err(FlowError::NoParameter(
                pass.name.to_string(),
                name.clone(),
                names,
            ));
        };
        if !declared.takes(value) {
            return Err(FlowError::WrongParameter(
                pass.name.to_string(),
                name.clone(),
                declared.needs(),
                value.to_string(),
            ));
        }
    }
    Ok(())
}
