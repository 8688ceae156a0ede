//! `atelier launcher sftp`: serves files over its input and output, as SFTP of version 3 with what OpenSSH
//! has added to it.
//!
//! It runs in the sandbox as the person whose files they are, so the system alone judges what may be read and
//! written. It answers in the order in which it is asked; all questions that have come are answered before
//! the answers leave, so that clients with many questions on their way pay few calls for them.

mod attributes;
mod handles;
mod listing;
mod names;
mod packet;

use std::io::{self, Read, Write};

use self::handles::Handles;
use self::packet::{Answer, Code, MAX_PACKET, Reader};

/// Answers leave once there are so many bytes of them.
const ENOUGH: usize = 512 << 10;

/// Serves until there are no more questions.
pub fn serve() -> io::Result<()> {
    // Input and output are one socket; without the standard library's buffers every call is one call.
    let (mut input, mut output) = (unbuffered(io::stdin())?, unbuffered(io::stdout())?);
    let mut handles = Handles::default();
    let (mut come, mut begin, mut answers) = (vec![0; MAX_PACKET + 4], 0..0, Vec::with_capacity(ENOUGH));
    loop {
        while let Some((length, _)) = come[begin.clone()].split_first_chunk::<4>() {
            let length = u32::from_be_bytes(*length) as usize;
            if length == 0 || length > MAX_PACKET {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "what came is no question"));
            }
            if begin.len() < 4 + length {
                break;
            }
            let body = begin.start + 4..begin.start + 4 + length;
            begin.start = body.end;
            answer(&mut handles, &come[body], &mut answers);
            if answers.len() >= ENOUGH {
                output.write_all(&answers)?;
                answers.clear();
            }
        }
        if !answers.is_empty() {
            output.write_all(&answers)?;
            answers.clear();
        }
        if begin.start > 0 {
            come.copy_within(begin.clone(), 0);
            begin = 0..begin.len();
        }
        match input.read(&mut come[begin.end..]) {
            Ok(0) => return Ok(()),
            Ok(count) => begin.end += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn unbuffered(handle: impl std::os::fd::AsFd) -> io::Result<std::fs::File> {
    Ok(handle.as_fd().try_clone_to_owned()?.into())
}

/// Answers one question. What cannot be read is answered as such, so that the client is not left waiting.
fn answer(handles: &mut Handles, question: &[u8], into: &mut Vec<u8>) {
    let mut reader = Reader(question);
    let Some(kind) = reader.byte() else { return };
    if kind == packet::INIT {
        return packet::version(into);
    }
    let Some(id) = reader.number() else { return };
    let mut answer = Answer { id, into };
    let start = answer.into.len();
    if let Err(error) = serve_one(handles, kind, &mut reader, &mut answer) {
        // Nothing that was begun stays.
        answer.into.truncate(start);
        answer.status(Code::of(&error), &error.to_string());
    }
}

fn serve_one(handles: &mut Handles, kind: u8, reader: &mut Reader<'_>, answer: &mut Answer<'_>) -> io::Result<()> {
    match kind {
        packet::OPEN => {
            let (path, flags) = (reader.path()?, reader.need_number()?);
            let given = reader.attributes()?;
            answer.handle(&handles.open(&path, flags, &given)?);
        }
        packet::CLOSE => {
            handles.close(reader.handle()?)?;
            answer.fine();
        }
        packet::READ => {
            let (file, offset, length) = (reader.handle()?, reader.need_long()?, reader.need_number()?);
            return answer.data(handles.file(file)?, offset, length);
        }
        packet::WRITE => {
            let (file, offset) = (reader.handle()?, reader.need_long()?);
            handles.write(file, offset, reader.text()?)?;
            answer.fine();
        }
        packet::STAT => answer.attributes(&std::fs::metadata(reader.path()?)?),
        packet::LSTAT => answer.attributes(&std::fs::symlink_metadata(reader.path()?)?),
        packet::FSTAT => answer.attributes(&handles.file(reader.handle()?)?.metadata()?),
        packet::SETSTAT => {
            let path = reader.path()?;
            attributes::set(&path, &reader.attributes()?, true)?;
            answer.fine();
        }
        packet::FSETSTAT => {
            let file = handles.file(reader.handle()?)?;
            attributes::set_open(file, &reader.attributes()?)?;
            answer.fine();
        }
        packet::OPENDIR => answer.handle(&handles.open_folder(&reader.path()?)?),
        packet::READDIR => {
            let entries = handles.next_entries(reader.handle()?)?;
            if entries.is_empty() {
                answer.status(Code::End, "there are no more");
            } else {
                answer.names(&entries);
            }
        }
        packet::REMOVE
        | packet::MKDIR
        | packet::RMDIR
        | packet::REALPATH
        | packet::RENAME
        | packet::READLINK
        | packet::SYMLINK => names::serve(kind, reader, answer)?,
        packet::EXTENDED => names::extended(handles, reader, answer)?,
        _ => answer.status(Code::Unsupported, "this is not known here"),
    }
    Ok(())
}

/// Reads a question in all the ways in which one can be meant.
pub fn read(question: &[u8]) {
    let mut reader = Reader(question);
    let (Some(_), Some(_)) = (reader.byte(), reader.number()) else { return };
    let rest = reader.0;
    let _ = Reader(rest).handle();
    let _ = Reader(rest).need_long();
    let mut reader = Reader(rest);
    let read = reader.path().and_then(|_| reader.need_number()).and_then(|_| reader.attributes());
    let attributes = read.or_else(|_| {
        let mut reader = Reader(rest);
        reader.text().and_then(|_| reader.attributes())
    });
    let _ = attributes.map(|attributes| attributes.rights());
}
