//! What is asked of the server while a person types. Only the server knows, so nothing is judged here.
//!
//! A question is asked once the typing pauses. An answer that comes after something else was typed is
//! dropped, and none is shown while a pointer is pressed.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::OnceLock;

use atelier_domain::fields::Fields;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Element, FormData, HtmlFormElement};

use crate::error::FnError;
use crate::islands::Part;
use crate::islands::dom::{parse, sleep};
use crate::islands::press::released;

pub type Answer = Pin<Box<dyn Future<Output = Result<Part, FnError>>>>;

/// Calls the server function of that address with these fields; nothing if there is none.
pub type Answers = fn(&str, Fields) -> Option<Answer>;

static ANSWERS: OnceLock<Answers> = OnceLock::new();

/// Says who answers, once, before there are islands. They know no noun, so somebody else has the list of
/// functions.
pub fn answer_by(answers: Answers) {
    let _ = ANSWERS.set(answers);
}

/// The address of a server function, and what it is asked with.
pub type Question = (String, Fields);

/// The questions of one kind, of which only the newest counts.
#[derive(Clone)]
pub struct Typing {
    pause_millis: i32,
    /// Counts what was typed, so that an answer to something older is known as such.
    newest: Rc<Cell<u32>>,
}

impl Typing {
    /// Who types on within `pause_millis` is not asked for in between.
    pub fn new(pause_millis: i32) -> Self {
        Self { pause_millis, newest: Rc::default() }
    }

    /// Asks after the pause what `question` makes of the fields then. `show` gets nothing where no answer
    /// came.
    pub fn ask(
        &self,
        question: impl FnOnce() -> Option<Question> + 'static,
        show: impl FnOnce(Option<Element>) + 'static,
    ) {
        let mine = self.newest.get().wrapping_add(1);
        self.newest.set(mine);
        let (newest, pause) = (self.newest.clone(), self.pause_millis);
        spawn_local(async move {
            sleep(pause).await;
            if newest.get() != mine {
                return;
            }
            let fresh = match question() {
                Some(question) => answer(question).await,
                None => None,
            };
            released().await;
            if newest.get() == mine {
                show(fresh);
            }
        });
    }
}

async fn answer((function, fields): Question) -> Option<Element> {
    let part = ANSWERS.get()?(&function, fields)?.await.ok()?;
    parse(&part.html).ok()?.body()?.first_element_child()
}

/// What stands in those of a form's fields that `names` has, joined by commas.
pub fn typed(form: &HtmlFormElement, names: &str) -> Option<Fields> {
    let data = FormData::new_with_form(form).ok()?;
    let mut fields = Fields::default();
    for name in names.split(',') {
        // Also what is empty, and one by one: to collect them is to bring a sort along.
        if let Some(value) = data.get(name).as_string() {
            fields.0.insert(name.to_owned(), value);
        }
    }
    Some(fields)
}
