import { type SearchEntry, SearchIndex, type SearchResult } from './search.ts'

const resultLimit = 12

/**
 * Makes the search field of the documentation usable. The index is loaded when the field gets the focus for the first
 * time. The keys `/` and Ctrl+K focus the field, the arrow keys select a result, and Enter opens it.
 */
export function startSearchField(): void {
  const field = document.querySelector<HTMLInputElement>('#site-search')
  const list = document.querySelector<HTMLElement>('#site-results')
  const status = document.querySelector<HTMLElement>('#site-search-status')
  if (field === null || list === null || status === null) return
  const search = new SearchField(field, list, status)
  field.closest('search')?.removeAttribute('hidden')
  field.addEventListener('focus', () => search.load())
  field.addEventListener('input', () => search.update())
  field.addEventListener('keydown', (event) => search.onKey(event))
  document.addEventListener('pointerdown', ({ target }) => {
    if (target instanceof Element && target.closest('search') === null) search.close()
  })
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof HTMLInputElement
    const isShortcut = event.key === '/' || ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k')
    if (!isShortcut || (isTyping && event.key === '/')) return
    event.preventDefault()
    field.focus()
    field.select()
  })
}

class SearchField {
  readonly #field: HTMLInputElement
  readonly #list: HTMLElement
  readonly #status: HTMLElement
  #index: Promise<SearchIndex> | undefined
  #active = 0

  constructor(field: HTMLInputElement, list: HTMLElement, status: HTMLElement) {
    this.#field = field
    this.#list = list
    this.#status = status
  }

  load(): Promise<SearchIndex> {
    this.#index ??= loadIndex()
    this.#index.catch(() => {
      this.#index = undefined
    })
    return this.#index
  }

  async update(): Promise<void> {
    const query = this.#field.value
    try {
      const index = await this.load()
      if (query === this.#field.value) this.#show(query.trim() === '' ? undefined : index.find(query, resultLimit))
    } catch {
      this.#showMessage('The search is not available. Check the connection to the platform.')
    }
  }

  close(): void {
    this.#list.hidden = true
    this.#field.setAttribute('aria-expanded', 'false')
    this.#field.removeAttribute('aria-activedescendant')
  }

  onKey(event: KeyboardEvent): void {
    const options = this.#options()
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Escape') this.close()
    else if (step !== undefined && options.length > 0 && !this.#list.hidden)
      this.#select((this.#active + step + options.length) % options.length)
    else if (step !== undefined) this.update()
    else if (event.key === 'Enter' && !this.#list.hidden) options[this.#active]?.click()
    else return
    event.preventDefault()
  }

  #options(): HTMLAnchorElement[] {
    return [...this.#list.querySelectorAll<HTMLAnchorElement>('a')]
  }

  #show(results: SearchResult[] | undefined): void {
    if (results === undefined) {
      this.#status.textContent = ''
      this.close()
      return
    }
    if (results.length === 0) {
      this.#showMessage('No results')
      return
    }
    this.#list.replaceChildren(...results.map((result, place) => this.#option(result, place)))
    this.#status.textContent = results.length === 1 ? '1 result' : `${results.length} results`
    this.#open()
    this.#select(0)
  }

  #showMessage(text: string): void {
    const message = element('p', 'result-none', text)
    message.setAttribute('role', 'option')
    message.setAttribute('aria-disabled', 'true')
    message.setAttribute('aria-selected', 'false')
    this.#list.replaceChildren(message)
    this.#status.textContent = text
    this.#open()
    this.#field.removeAttribute('aria-activedescendant')
  }

  #open(): void {
    this.#list.hidden = false
    this.#field.setAttribute('aria-expanded', 'true')
  }

  #option({ entry, excerpt }: SearchResult, place: number): HTMLElement {
    const option = document.createElement('a')
    option.id = `site-result-${place}`
    option.className = 'result'
    option.href = entry.path
    option.tabIndex = -1
    option.setAttribute('role', 'option')
    const text = element('span', 'result-text')
    text.append(...excerpt.map((part) => (part.isMatch ? element('mark', '', part.text) : part.text)))
    option.append(
      element('span', 'result-title', entry.heading === '' ? entry.page : entry.heading),
      element('span', 'result-place', entry.heading === '' ? entry.part : `${entry.part} · ${entry.page}`),
      text,
    )
    // A link to a section of the current page does not load a page, so the list is closed here.
    option.addEventListener('click', () => this.close())
    return option
  }

  #select(place: number): void {
    this.#active = place
    this.#options().forEach((option, index) => {
      option.setAttribute('aria-selected', String(index === place))
      if (index !== place) return
      this.#field.setAttribute('aria-activedescendant', option.id)
      option.scrollIntoView({ block: 'nearest' })
    })
  }
}

async function loadIndex(): Promise<SearchIndex> {
  const response = await fetch('/docs/search.json')
  if (!response.ok) throw new Error(`The search index could not be loaded: status ${response.status}`)
  return new SearchIndex((await response.json()) as SearchEntry[])
}

function element(name: string, className: string, text = ''): HTMLElement {
  const created = document.createElement(name)
  created.className = className
  created.textContent = text
  return created
}
