/**
 * This file makes xterm work with the content security policy of the console, which does not allow style elements and
 * style attributes. The rules of style elements are added as constructed style sheets, and style attributes are set
 * with the CSS object model. The policy allows both.
 */

export type TerminalStyles = {
  /** The document that xterm uses to create elements, for its option `documentOverride`. */
  readonly document: Document
  /** Opens the terminal. xterm creates the style of its scroll bar with the document of the window, not with the option. */
  open(open: () => void): void
  dispose(): void
}

export function terminalStyles(): TerminalStyles {
  const sheets = new Set<CSSStyleSheet>()
  const createNative = document.createElement.bind(document)
  const create = (name: string, options?: ElementCreationOptions): HTMLElement => {
    if (name === 'style') return styleElement(sheets)
    const element = createNative(name, options)
    if (name === 'span') element.setAttribute = setAttribute
    return element
  }
  const proxy = new Proxy(document, {
    get(target, name) {
      if (name === 'createElement') return create
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return {
    document: proxy,
    open(open) {
      document.createElement = create as Document['createElement']
      try {
        open()
      } finally {
        Reflect.deleteProperty(document, 'createElement')
      }
    },
    dispose() {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !sheets.has(sheet))
      sheets.clear()
    },
  }
}

/** Returns an element that takes the place of a style element. Its text is the content of a constructed style sheet. */
function styleElement(sheets: Set<CSSStyleSheet>): HTMLElement {
  const sheet = new CSSStyleSheet()
  sheets.add(sheet)
  document.adoptedStyleSheets.push(sheet)
  const element = document.createElementNS('http://www.w3.org/1999/xhtml', 'span') as HTMLElement
  element.hidden = true
  Object.defineProperty(element, 'textContent', { set: (rules: string) => sheet.replaceSync(rules) })
  return element
}

function setAttribute(this: HTMLElement, name: string, value: string): void {
  if (name === 'style') this.style.cssText = value
  else Element.prototype.setAttribute.call(this, name, value)
}
