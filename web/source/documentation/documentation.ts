import { storedTheme } from '../app/shell/stored-theme.ts'
import { startSearchField } from './search-field.ts'

/**
 * The script of the pages of the documentation. The pages work without it. It adds the search, the theme that the user
 * has chosen in the console, buttons that copy code, and keyboard access to wide tables.
 */

const theme = storedTheme()
if (theme !== 'system') document.documentElement.dataset.theme = theme

// The API reference was at /docs before the documentation. Links to its operations have a route in the fragment.
if (location.pathname === '/docs' && location.hash.startsWith('#?route=')) location.replace(`/docs/api${location.hash}`)

startSearchField()
addCopyButtons()
closeMenusOnNavigation()
markScrollAreas()
markCurrentSection()
document.querySelector('.navigation [aria-current]')?.scrollIntoView({ block: 'nearest' })

function addCopyButtons(): void {
  // Browsers offer the clipboard only in a secure context.
  if (navigator.clipboard === undefined) return
  for (const block of document.querySelectorAll('pre')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'copy'
    button.textContent = 'Copy'
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(commandsOf(block.querySelector('code')?.textContent ?? ''))
      button.textContent = 'Copied'
      setTimeout(() => {
        button.textContent = 'Copy'
      }, 2_000)
    })
    const frame = document.createElement('div')
    frame.className = 'code'
    block.replaceWith(frame)
    frame.append(block, button)
  }
}

/** Returns the text of a block. If the block shows a terminal, only the commands are returned, without the prompt. */
function commandsOf(text: string): string {
  const commands = text.split('\n').filter((line) => line.startsWith('$ '))
  return commands.length === 0 ? text : `${commands.map((line) => line.slice(2)).join('\n')}\n`
}

function closeMenusOnNavigation(): void {
  for (const menu of document.querySelectorAll<HTMLElement>('[popover]')) {
    menu.addEventListener('click', ({ target }) => {
      if (target instanceof Element && target.closest('a') !== null && menu.matches(':popover-open')) menu.hidePopover()
    })
  }
}

/** Makes tables and code that are wider than the page reachable with the keyboard, so that the arrow keys scroll them. */
function markScrollAreas(): void {
  const observer = new ResizeObserver((changes) => {
    for (const { target } of changes) {
      const isWide = target.scrollWidth > target.clientWidth
      target.toggleAttribute('data-wide', isWide)
      if (isWide) {
        target.setAttribute('tabindex', '0')
        target.setAttribute('role', 'group')
        target.setAttribute('aria-label', target.matches('pre') ? 'Code' : 'Table')
      } else for (const name of ['tabindex', 'role', 'aria-label']) target.removeAttribute(name)
    }
  })
  for (const area of document.querySelectorAll('main pre, main .table')) observer.observe(area)
}

/** Marks the section that is at the top of the window in the list of sections. */
function markCurrentSection(): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('.contents a')]
  const headings = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))))
  if (links.length === 0) return
  const update = () => {
    const passed = headings.findLastIndex((heading) => (heading?.getBoundingClientRect().top ?? 1) < innerHeight / 4)
    links.forEach((link, place) => {
      if (place === passed) link.setAttribute('aria-current', 'true')
      else link.removeAttribute('aria-current')
    })
  }
  let isPlanned = false
  addEventListener(
    'scroll',
    () => {
      if (isPlanned) return
      isPlanned = true
      requestAnimationFrame(() => {
        isPlanned = false
        update()
      })
    },
    { passive: true },
  )
  update()
}
