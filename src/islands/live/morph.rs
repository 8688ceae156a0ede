//! Changes one piece of a page into another by the fewest steps, so that nothing a person is doing there is
//! lost.
//!
//! Children are matched by `data-key` or `id`, else by their order and kind. What belongs to the person
//! stays: the focused field, ticks, open menus, dialogs and details, a form on its way. Islands are never
//! touched.

use wasm_bindgen::JsCast;
use web_sys::{Element, Node};

/// What a morph did.
#[derive(Default)]
pub struct Changes {
    /// Cells and rows whose content is new.
    pub touched: Vec<Element>,
    /// Rows with a key that were there and have changed.
    pub changed: Vec<Element>,
    /// Rows with a key that have come.
    pub added: Vec<Element>,
    /// How many rows with a key have gone.
    pub removed: usize,
}

/// Makes `old`, which is in the page, like `new`, which is of a fetched one and is used up by this.
pub fn morph(old: &Element, new: &Element) -> Changes {
    let mut changes = Changes::default();
    morph_element(old, new, &mut changes);
    changes
}

fn morph_node(old: &Node, new: &Node, changes: &mut Changes) {
    if let (Some(old), Some(new)) = (old.dyn_ref::<Element>(), new.dyn_ref::<Element>()) {
        return morph_element(old, new, changes);
    }
    if old.node_value() != new.node_value() {
        old.set_node_value(new.node_value().as_deref());
        if old.node_type() == Node::TEXT_NODE {
            changes.note(old);
        }
    }
}

fn morph_element(old: &Element, new: &Element, changes: &mut Changes) {
    if is_in_use(old) {
        return;
    }
    morph_attributes(old, new);
    morph_children(old, new, changes);
}

/// Whether a person is at work in this very element.
fn is_in_use(element: &Element) -> bool {
    const BUSY: &str = "leptos-island, dialog[open], form[data-sent], input:focus, textarea:focus, select:focus";
    // A selector of its own, since a browser without popovers refuses a list that names one.
    element.matches(BUSY).unwrap_or(false) || element.matches(":popover-open").unwrap_or(false)
}

/// Attributes that the person or a script has changed since, and that the server does not know.
fn is_kept(element: &Element, name: &str) -> bool {
    match name {
        "checked" => element.tag_name() == "INPUT",
        "open" => matches!(element.tag_name().as_str(), "DETAILS" | "DIALOG"),
        "aria-busy" => true,
        _ => false,
    }
}

fn morph_attributes(old: &Element, new: &Element) {
    let fresh = new.attributes();
    for attribute in (0..fresh.length()).filter_map(|at| fresh.item(at)) {
        let (name, value) = (attribute.name(), attribute.value());
        if !is_kept(old, &name) && old.get_attribute(&name).as_deref() != Some(value.as_str()) {
            let _ = old.set_attribute(&name, &value);
        }
    }
    let present = old.attributes();
    let names: Vec<String> = (0..present.length()).filter_map(|at| Some(present.item(at)?.name())).collect();
    for name in names {
        if !is_kept(old, &name) && !new.has_attribute(&name) {
            let _ = old.remove_attribute(&name);
        }
    }
}

fn morph_children(old: &Element, new: &Element, changes: &mut Changes) {
    let fresh = children(new);
    let fresh_keys: Vec<Option<String>> = fresh.iter().map(key).collect();
    let mut keyed: Vec<(String, Node)> = Vec::new();
    for child in children(old) {
        let Some(key) = key(&child) else { continue };
        if fresh_keys.iter().any(|fresh| fresh.as_deref() == Some(key.as_str())) {
            keyed.push((key, child));
        } else {
            let _ = old.remove_child(&child);
            changes.removed += usize::from(is_row(&child));
        }
    }
    // Everything before the cursor is done.
    let mut cursor = old.first_child();
    for (child, key) in fresh.iter().zip(fresh_keys) {
        let partner = match &key {
            Some(key) => keyed.iter().position(|(known, _)| known == key).map(|at| keyed.swap_remove(at).1),
            None => unkeyed_like(child, cursor.clone()),
        };
        let Some(partner) = partner.filter(|partner| partner.node_name() == child.node_name()) else {
            let _ = old.insert_before(child, cursor.as_ref());
            changes.note_new(child);
            continue;
        };
        if cursor.as_ref() == Some(&partner) {
            cursor = partner.next_sibling();
        } else {
            let _ = old.insert_before(&partner, cursor.as_ref());
        }
        morph_node(&partner, child, changes);
    }
    while let Some(rest) = cursor {
        cursor = rest.next_sibling();
        changes.note(&rest);
        let _ = old.remove_child(&rest);
    }
}

/// The first child from `from` on that has no key and is of the same kind.
fn unkeyed_like(wanted: &Node, from: Option<Node>) -> Option<Node> {
    let mut candidate = from;
    while let Some(node) = candidate {
        if node.node_name() == wanted.node_name() && key(&node).is_none() {
            return Some(node);
        }
        candidate = node.next_sibling();
    }
    None
}

fn children(parent: &Element) -> Vec<Node> {
    let list = parent.child_nodes();
    (0..list.length()).filter_map(|at| list.item(at)).collect()
}

fn key(node: &Node) -> Option<String> {
    let element = node.dyn_ref::<Element>()?;
    element.get_attribute("data-key").or_else(|| element.get_attribute("id"))
}

fn is_row(node: &Node) -> bool {
    node.dyn_ref::<Element>().is_some_and(|element| element.has_attribute("data-key"))
}

impl Changes {
    /// Notes that something in or at `node` is new. Times pass by themselves and are not news.
    fn note(&mut self, node: &Node) {
        let Some(around) = node.parent_element().filter(|around| !matches!(around.closest("time"), Ok(Some(_)))) else {
            return;
        };
        if let Ok(Some(cell)) = around.closest("td, th, dd, li") {
            push(&mut self.touched, cell);
        }
        if let Ok(Some(row)) = around.closest("[data-key]") {
            push(&mut self.changed, row);
        }
    }

    fn note_new(&mut self, node: &Node) {
        match node.dyn_ref::<Element>().filter(|element| element.has_attribute("data-key")) {
            Some(row) => {
                push(&mut self.touched, row.clone());
                push(&mut self.added, row.clone());
            }
            None if node.node_type() != Node::COMMENT_NODE => self.note(node),
            None => {}
        }
    }
}

fn push(list: &mut Vec<Element>, element: Element) {
    if !list.contains(&element) {
        list.push(element);
    }
}
