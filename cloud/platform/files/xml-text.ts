/** Characters that XML 1.0 does not allow, and surrogates without their other half. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this expression finds
const notInXml = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu

const references: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  // A reader normalises these characters unless they are written as references.
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
}

/** Returns whether XML can contain the text without a change. */
export function isXmlText(text: string): boolean {
  return text.search(notInXml) < 0
}

/** Replaces each character that XML does not allow with the replacement character. */
export function xmlText(text: string): string {
  return text.replace(notInXml, '\ufffd')
}

/** Escapes text for the content of an element or the value of an attribute. */
export function escapedXml(text: string): string {
  return xmlText(text).replace(/[&<>"\t\n\r]/g, (character) => references[character] ?? character)
}
