import { Marked, type Token, type Tokens } from 'marked'

export type Heading = { depth: number; id: string; text: string }

/** `Section` is the part of a page below one heading, without markup. The search finds sections. */
export type Section = { heading: Heading; text: string }

export type RenderedPage = {
  html: string
  headings: Heading[]
  sections: Section[]
}

export type RenderOptions = {
  markdown: string
  /** Returns the address of a link or picture on the platform. Undefined means that the platform does not serve it. */
  resolve: (target: string) => string | undefined
}

/**
 * Renders a page of the documentation. Headings get the anchors of GitHub. A table row that starts with a name in code,
 * such as a problem code, gets that name as its anchor. HTML in the page is not rendered.
 */
export function renderPage({ markdown, resolve }: RenderOptions): RenderedPage {
  const ids = new Set<string>()
  const headings: Heading[] = []
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const text = plainText(tokens)
        const id = unusedId(ids, anchorOf(text))
        headings.push({ depth, id, text })
        const heading = `<h${depth} id="${escapeHtml(id)}">${this.parser.parseInline(tokens)}</h${depth}>`
        if (depth === 1) return `${heading}\n`
        const label = escapeHtml(`Link to the section ${text}`)
        return `<div class="heading">${heading}<a class="anchor" href="#${escapeHtml(id)}" aria-label="${label}">#</a></div>\n`
      },
      // Names and paths in code can be long, so lines can break after "/" and "_".
      codespan: ({ text }) => `<code>${escapeHtml(text).replace(/[/_](?=\w)/g, '$&<wbr>')}</code>`,
      code({ text, lang }) {
        return `<pre data-language="${escapeHtml(lang ?? '')}"><code>${escapeHtml(text)}\n</code></pre>\n`
      },
      table({ header, rows }) {
        const cell = (tag: 'th scope="col"' | 'td', { tokens }: Tokens.TableCell) =>
          `<${tag}>${this.parser.parseInline(tokens)}</${tag.slice(0, 2)}>`
        const body = rows.map((cells) => {
          const id = rowId(ids, cells)
          const attribute = id === undefined ? '' : ` id="${escapeHtml(id)}"`
          return `<tr${attribute}>${cells.map((each) => cell('td', each)).join('')}</tr>`
        })
        const head = header.map((each) => (plainText(each.tokens) === '' ? '<td></td>' : cell('th scope="col"', each)))
        return `<div class="table" tabindex="0"><table><thead><tr>${head.join('')}</tr></thead>\n<tbody>${body.join('\n')}</tbody></table></div>\n`
      },
      link({ href, tokens }) {
        const label = this.parser.parseInline(tokens)
        const address = resolve(href)
        return address === undefined
          ? `<span class="source" title="${escapeHtml(href)}">${label}</span>`
          : `<a href="${escapeHtml(address)}">${label}</a>`
      },
      image({ href, text }) {
        const address = resolve(href)
        return address === undefined ? escapeHtml(text) : `<img src="${escapeHtml(address)}" alt="${escapeHtml(text)}">`
      },
      html: () => '',
    },
  })
  const tokens = marked.lexer(markdown)
  const html = marked.parser(tokens)
  return { html, headings, sections: sectionsOf(tokens, headings) }
}

/** Returns the tokens of a page. The table of contents of the site is read from the tokens of `docs/README.md`. */
export function tokensOf(markdown: string): Token[] {
  return new Marked().lexer(markdown)
}

/** Returns the anchor that GitHub creates for a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

export function escapeHtml(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}

/** Returns the text of tokens without markup. */
export function plainText(tokens: readonly Token[]): string {
  return tokens.map(textOf).join('')
}

function textOf(token: Token): string {
  switch (token.type) {
    case 'html':
    case 'space':
      return token.type === 'space' ? ' ' : ''
    case 'br':
      return ' '
    case 'table': {
      const { header, rows } = token as Tokens.Table
      return [header, ...rows].map((cells) => `${cells.map((each) => plainText(each.tokens)).join(' ')} `).join('')
    }
    case 'list':
      return (token as Tokens.List).items.map((item) => `${plainText(item.tokens)} `).join('')
    default:
      return 'tokens' in token && token.tokens !== undefined
        ? plainText(token.tokens)
        : `${(token as Tokens.Text).text}`
  }
}

/** Returns the sections of a page. `headings` are the headings of the tokens, in the same order. */
function sectionsOf(tokens: readonly Token[], headings: readonly Heading[]): Section[] {
  const sections: Section[] = []
  for (const token of tokens) {
    const heading = token.type === 'heading' ? headings[sections.length] : undefined
    const section = sections.at(-1)
    if (heading !== undefined) sections.push({ heading, text: '' })
    else if (section !== undefined) section.text = `${section.text} ${textOf(token)}`
  }
  return sections.map(({ heading, text }) => ({ heading, text: text.replace(/\s+/g, ' ').trim() }))
}

function unusedId(ids: Set<string>, wanted: string): string {
  let id = wanted
  for (let count = 1; ids.has(id); count++) id = `${wanted}-${count}`
  ids.add(id)
  return id
}

/** Returns the anchor of a table row, if the first cell is only a name in code that is not an anchor yet. */
function rowId(ids: Set<string>, [first]: readonly Tokens.TableCell[]): string | undefined {
  const [token, ...others] = first?.tokens ?? []
  if (token?.type !== 'codespan' || others.length > 0) return undefined
  const name = (token as Tokens.Codespan).text
  if (!/^[A-Za-z][\w.-]*$/.test(name) || ids.has(name)) return undefined
  ids.add(name)
  return name
}
