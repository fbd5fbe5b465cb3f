/*
 * Terminal control sequences as ECMA-48 and xterm define them, in 7-bit and 8-bit forms. `stripVTControlCharacters` of
 * `node:util` misses most of OSC and DCS, and colours with colons.
 */

/** `ESC [` or CSI: parameters, intermediates, and the final byte, which may be missing where the text was cut. */
const csi = String.raw`(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?`;
/**
 * OSC, DCS, SOS, PM and APC: a string up to BEL or ST, or up to the control character that cancels it. An unterminated
 * sequence loses only its introducer, so no log text is lost. The string holds no control character, and every sequence
 * begins with one, so the search is linear.
 */
const string = String.raw`(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])(?:[^\x00-\x1f\x80-\x9f]*(?:\x07|\x9c|\x1b\\|(?=[\x18\x1a\x1b\x80-\x9f])))?`;
/** `ESC ( B`, `ESC 7`, `ESC c`. */
const short = String.raw`\x1b[ -/]*[0-~]`;

const sequences = new RegExp(`${csi}|${string}|${short}`, "g");

/** A text without escape sequences. Other control characters stay. */
export const withoutEscapeSequences = (text: string): string => text.replace(sequences, "");
