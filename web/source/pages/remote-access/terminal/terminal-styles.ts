/**
 * This file makes xterm work with the content security policy of the console, which does not allow style elements and
 * style attributes. The rules of style elements are added as constructed style sheets, and style attributes are set
 * with the CSS object model. The policy allows both. xterm creates its elements with the document of the window, so
 * `document.createElement` is replaced while a terminal exists.
 */

export type TerminalStyles = {
  /** Runs a function that opens a terminal. xterm creates all its style elements in this function. */
  open(open: () => void): void
  dispose(): void
}

/** The number of terminals that exist. */
let terminals = 0
/** The style sheets of the terminal that opens now. */
let openingSheets: Set<CSSStyleSheet> | undefined

export function terminalStyles(): TerminalStyles {
  const sheets = new Set<CSSStyleSheet>()
  if (terminals === 0) document.createElement = createElement as Document['createElement']
  terminals++
  return {
    open(open) {
      openingSheets = sheets
      try {
        open()
      } finally {
        openingSheets = undefined
      }
    },
    dispose() {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !sheets.has(sheet))
      terminals--
      if (terminals === 0) Reflect.deleteProperty(document, 'createElement')
    },
  }
}

function createElement(this: Document, name: string, options?: ElementCreationOptions): HTMLElement {
  if (name === 'style' && openingSheets !== undefined) return styleElement(openingSheets)
  const element = Document.prototype.createElement.call(this, name, options)
  if (name === 'span') element.setAttribute = setAttribute
  return element
}

/** Returns an element that takes the place of a style element. Its text is the content of a constructed style sheet. */
function styleElement(sheets: Set<CSSStyleSheet>): HTMLElement {
  const sheet = new CSSStyleSheet()
  sheets.add(sheet)
  document.adoptedStyleSheets.push(sheet)
  const element = Document.prototype.createElement.call(document, 'span')
  element.hidden = true
  Object.defineProperty(element, 'textContent', { set: (rules: string) => sheet.replaceSync(rules) })
  return element
}

function setAttribute(this: HTMLElement, name: string, value: string): void {
  if (name === 'style') this.style.cssText = value
  else Element.prototype.setAttribute.call(this, name, value)
}
