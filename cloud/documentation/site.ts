import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Token, Tokens } from 'marked'
import { anchorOf, plainText, type RenderedPage, renderPage, tokensOf } from './markdown.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const index = 'docs/README.md'
const decisionsFolder = 'docs/decisions'
/** The address with which the guides name a platform on the same machine. Links to it open the platform itself. */
const localPlatform = 'http://127.0.0.1:8080'

/** `SitePage` is a Markdown file of the repository and its address on the platform. */
export type SitePage = {
  /** The path of the file in the repository. The list of decision records is the path of their folder. */
  file: string
  path: string
  title: string
}

/** A group of links in the navigation. Its name is empty if the section has only one group. */
export type NavigationGroup = { name: string; links: NavigationLink[] }

export type NavigationLink = { label: string; page: SitePage }

/** A section of the navigation, such as the how-to guides. */
export type NavigationSection = {
  name: string
  /** The page that lists the section: the start page, or the list of decision records. */
  path: string
  groups: NavigationGroup[]
}

/** An entry of the search: one section of a page. */
export type SearchEntry = {
  path: string
  /** The title of the page. */
  page: string
  /** The section of the navigation that contains the page. */
  part: string
  /** The heading of the section. The part of a page before its first section has an empty heading. */
  heading: string
  text: string
}

/**
 * `DocumentationSite` contains the pages of `docs/`, and the Markdown files in the root folder of the repository. The
 * navigation and the order of the pages are those of the index, `docs/README.md`. Pages are rendered when they are
 * requested for the first time. Failures are not cached.
 */
export class DocumentationSite {
  readonly sections: readonly NavigationSection[]
  readonly #pages: ReadonlyMap<string, SitePage>
  readonly #pagesByFile: ReadonlyMap<string, SitePage>
  readonly #files: ReadonlyMap<string, string>
  readonly #rendered = new Map<string, Promise<RenderedPage>>()
  #searchIndex: Promise<SearchEntry[]> | undefined

  private constructor(pages: readonly SitePage[], sections: readonly NavigationSection[], files: readonly string[]) {
    this.sections = sections
    this.#pages = new Map(pages.map((page) => [page.path, page]))
    this.#pagesByFile = new Map(pages.map((page) => [page.file, page]))
    this.#files = new Map(files.map((file) => [`/${file}`, join(root, file)]))
  }

  static async load(): Promise<DocumentationSite> {
    const markdownFiles = [...globSync('docs/**/*.md', { cwd: root }), ...globSync('*.md', { cwd: root })].toSorted()
    const pages = await Promise.all(
      markdownFiles.map(async (file) => ({ file, path: pathOf(file), title: titleOf(await read(file)) })),
    )
    pages.push({ file: decisionsFolder, path: pathOf(decisionsFolder), title: 'Decision records' })
    const files = globSync('docs/{pictures,figures,examples}/**/*.{svg,png,mjs,json}', { cwd: root })
    return new DocumentationSite(pages, navigationOf(tokensOf(await read(index)), pages), files)
  }

  /** The links to all pages, in the order of the navigation. */
  get links(): NavigationLink[] {
    return this.sections.flatMap(({ groups }) => groups.flatMap(({ links }) => links))
  }

  find(path: string): SitePage | undefined {
    return this.#pages.get(path)
  }

  /** Returns the path of the picture or example file with this address. */
  findFile(path: string): string | undefined {
    return this.#files.get(path)
  }

  /** Returns the section and the group of a page in the navigation. */
  placeOf(page: SitePage): { section: NavigationSection; group: NavigationGroup } | undefined {
    for (const section of this.sections) {
      const group = section.groups.find(({ links }) => links.some((link) => link.page === page))
      if (group !== undefined) return { section, group }
    }
    return undefined
  }

  render(page: SitePage): Promise<RenderedPage> {
    const known = this.#rendered.get(page.path)
    if (known !== undefined) return known
    const rendered = this.#render(page).catch((error: unknown) => {
      this.#rendered.delete(page.path)
      throw error
    })
    this.#rendered.set(page.path, rendered)
    return rendered
  }

  /** Returns the entries of the search. Pages are rendered one at a time, so that other requests are not delayed. */
  searchIndex(): Promise<SearchEntry[]> {
    this.#searchIndex ??= this.#createSearchIndex().catch((error: unknown) => {
      this.#searchIndex = undefined
      throw error
    })
    return this.#searchIndex
  }

  async #render(page: SitePage): Promise<RenderedPage> {
    const markdown = page.file === decisionsFolder ? this.#decisionList() : await read(page.file)
    return renderPage({ markdown, resolve: (target) => this.#resolve(page.file, target) })
  }

  /** Returns the page of the folder of decision records, which has no file. */
  #decisionList(): string {
    const decisions = [...this.#pages.values()].filter(({ file }) => file.startsWith(`${decisionsFolder}/`))
    const links = decisions.map(({ file, title }) => `- [${title}](decisions/${basename(file)})`)
    return `# Decision records\n\nThis page lists the decisions about the architecture, with their reasons.\n\n${links.join('\n')}\n`
  }

  /** Returns the address of a link in a file, or undefined if the link names a file that the platform does not serve. */
  #resolve(file: string, target: string): string | undefined {
    if (target.startsWith(localPlatform)) return target.slice(localPlatform.length) || '/'
    if (/^[a-z]+:/.test(target) || target.startsWith('#')) return target
    const [path = '', anchor] = target.split('#')
    const named = join(dirname(file), path).replace(/\/$/, '')
    const address = this.#pagesByFile.get(named)?.path ?? (this.#files.has(`/${named}`) ? `/${named}` : undefined)
    if (address === undefined) return undefined
    return anchor === undefined ? address : `${address}#${anchor}`
  }

  async #createSearchIndex(): Promise<SearchEntry[]> {
    const entries: SearchEntry[] = []
    for (const { page } of this.links) {
      if (page.file === decisionsFolder) continue
      const { sections } = await this.render(page)
      const part = this.placeOf(page)?.section.name ?? ''
      for (const { heading, text } of sections) {
        const isTop = heading.depth === 1
        const path = isTop ? page.path : `${page.path}#${heading.id}`
        entries.push({ path, page: page.title, part, heading: isTop ? '' : heading.text, text })
      }
      await setImmediate()
    }
    return entries
  }
}

function read(file: string): Promise<string> {
  return readFile(join(root, file), 'utf8')
}

function pathOf(file: string): string {
  if (file === index) return '/docs'
  const name = file.replace(/\.md$/, '')
  return name.startsWith('docs/') ? `/${name}` : `/docs/project/${name.toLowerCase()}`
}

function titleOf(markdown: string): string {
  return /^# (.+)$/m.exec(markdown)?.[1]?.replaceAll('`', '') ?? ''
}

/**
 * Returns the navigation from the index. Each heading is a section. A list is a group without a name, and each row of a
 * table is a group with the name in its first cell. Decision records follow as the last section.
 */
function navigationOf(tokens: readonly Token[], pages: readonly SitePage[]): NavigationSection[] {
  const sections: NavigationSection[] = []
  const linksOf = (within: readonly Token[]) =>
    linksIn(within).flatMap(({ href, tokens: label }) => {
      const file = join(dirname(index), href)
      const page = pages.find((each) => each.file === file)
      return page === undefined ? [] : [{ label: capitalised(plainText(label)), page }]
    })
  for (const token of tokens) {
    const section = sections.at(-1)
    if (token.type === 'heading' && (token as Tokens.Heading).depth === 2) {
      const name = plainText((token as Tokens.Heading).tokens)
      sections.push({ name, path: `/docs#${anchorOf(name)}`, groups: [] })
    } else if (token.type === 'table') {
      for (const [name, ...cells] of (token as Tokens.Table).rows)
        section?.groups.push({
          name: plainText(name?.tokens ?? []),
          links: linksOf(cells.flatMap((cell) => cell.tokens)),
        })
    } else if (token.type === 'list') section?.groups.push({ name: '', links: linksOf([token]) })
  }
  const decisions = pages.filter(({ file }) => file.startsWith(`${decisionsFolder}/`))
  const links = decisions.map((page) => ({ label: page.title, page }))
  return [...sections, { name: 'Decisions', path: pathOf(decisionsFolder), groups: [{ name: '', links }] }]
}

function linksIn(tokens: readonly Token[]): Tokens.Link[] {
  return tokens.flatMap((token) => {
    if (token.type === 'link') return [token as Tokens.Link]
    const children =
      token.type === 'list' ? (token as Tokens.List).items : 'tokens' in token ? (token.tokens ?? []) : []
    return linksIn(children)
  })
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
