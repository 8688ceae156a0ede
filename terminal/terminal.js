// The terminal page: xterm.js on one side, a socket to the shell on the other.
// To the shell: a byte 0 and what was typed, or a byte 1 and the window's columns and rows. From it: what it prints; a text once it ended, or once nobody may stay.
'use strict';

(() => {
  const place = document.getElementById('terminal');
  const state = document.getElementById('state');
  const terminal = new Terminal({
    cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
    fontFamily: '"JetBrains Mono", ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace',
    fontSize: 14,
    scrollback: 10000,
    screenReaderMode: false,
    theme: { background: '#12151c', foreground: '#e6e8ee', cursor: '#e6e8ee', selectionBackground: '#3a4870' },
  });
  const fit = new FitAddon.FitAddon();
  terminal.loadAddon(fit);
  terminal.open(place);
  fit.fit();

  // One shell for each name: the same name is the same shell, in any tab and after a reload.
  const wanted = location.hash.slice(1);
  const name = /^[a-z0-9-]{1,16}$/.test(wanted) ? wanted : '1';
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
  const bytes = new TextEncoder();
  let socket = null;
  let hasEnded = false;
  let over = '';
  let pause = 200;

  const tell = (text) => {
    state.textContent = text;
    state.hidden = text === '';
  };

  // Who types before the shell is there, or while the connection is made again, loses nothing: it is sent once there is one.
  const early = [];
  const MOST_EARLY = 4096;

  const type = (body) => {
    if (socket !== null && socket.readyState === WebSocket.OPEN) send(0, body);
    else if (early.length + body.length <= MOST_EARLY) early.push(...body);
  };

  const send = (kind, body) => {
    if (socket === null || socket.readyState !== WebSocket.OPEN) return;
    const message = new Uint8Array(body.length + 1);
    message[0] = kind;
    message.set(body, 1);
    socket.send(message);
  };

  const sendSize = () => {
    const { cols, rows } = terminal;
    send(1, [cols >> 8, cols & 255, rows >> 8, rows & 255]);
  };

  const connect = () => {
    socket = new WebSocket(`${scheme}://${location.host}/session/${name}`);
    socket.binaryType = 'arraybuffer';
    let isFirst = true;
    socket.onopen = () => {
      pause = 200;
      over = '';
      tell('');
      sendSize();
      if (early.length > 0) send(0, early.splice(0));
      terminal.focus();
    };
    socket.onmessage = ({ data }) => {
      if (typeof data === 'string') {
        const said = JSON.parse(data);
        hasEnded = true;
        over = said.over ?? '';
        tell(over === '' ? `The shell has ended with code ${said.ended}. Press Enter for a new one.` : `${over} Press Enter to try again.`);
        return;
      }
      // What comes first is all that the shell remembers.
      if (isFirst) terminal.reset();
      isFirst = false;
      terminal.write(new Uint8Array(data));
    };
    socket.onclose = () => {
      if (hasEnded) return;
      if (over !== '') {
        hasEnded = true;
        tell(`${over} Press Enter to try again.`);
        return;
      }
      tell('The connection was lost. The shell goes on; connecting again…');
      setTimeout(connect, pause);
      pause = Math.min(pause * 2, 5000);
    };
  };

  terminal.onData((typed) => {
    if (hasEnded) {
      if (typed === '\r') {
        hasEnded = false;
        terminal.reset();
        connect();
      }
      return;
    }
    type(bytes.encode(typed));
  });
  terminal.onBinary((typed) => type(Uint8Array.from(typed, (c) => c.charCodeAt(0) & 255)));
  terminal.onResize(sendSize);
  new ResizeObserver(() => fit.fit()).observe(place);
  // For tests, which cannot read what is drawn.
  window.atelierTerminal = terminal;
  connect();
})();
