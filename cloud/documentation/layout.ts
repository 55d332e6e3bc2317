import { productVersion } from '../platform/version.ts'
import { escapeHtml, type RenderedPage } from './markdown.ts'
import type { DocumentationSite, NavigationLink, NavigationSection, SitePage } from './site.ts'

type PageLayout = { site: DocumentationSite; page: SitePage; rendered: RenderedPage }

/** The sections that are open in the navigation of the start page. */
const firstSections = 2

/** Returns the HTML of a page with navigation, table of contents, and links to the previous and the next page. */
export function pageHtml({ site, page, rendered }: PageLayout): string {
  const place = site.placeOf(page)
  const path = [place?.section, place?.group].map((part) => part?.name ?? '').filter((name) => name !== '')
  const above = `<p class="above"><a class="above-link" href="${place?.section.path ?? '/docs'}">${escapeHtml(path.join(' · ') || 'Documentation')}</a></p>`
  const content = `<article>\n${above}\n${rendered.html}</article>\n${adjacentPages(site, page)}`
  return frame({ site, title: page.title, current: page, content, contents: contentsOf(rendered) })
}

/** Returns the start page: the tutorial as the first step, and all other sections of the navigation. */
export function startHtml(site: DocumentationSite): string {
  const [tutorial, ...others] = site.sections.filter(({ path }) => path.startsWith('/docs#'))
  const first = tutorial?.groups[0]?.links[0]
  const firstStep =
    first === undefined ? '' : `<a class="button" href="${first.page.path}">${escapeHtml(first.label)}</a>`
  const content = `<div class="start">
<h1>Documentation</h1>
<p class="lead">How to find, document and manage the devices of a plant with Millwright. Everything on this site works without a
connection to the internet.</p>
<p class="actions" id="tutorial">${firstStep}<a class="button quiet" href="/docs/api">API reference</a></p>
<div class="cards">
${others.map(card).join('\n')}
</div>
</div>`
  return frame({ site, title: 'Documentation', content })
}

export function notFoundHtml(site: DocumentationSite): string {
  const content = `<article>
<h1>Page not found</h1>
<p>The documentation has no page at this address. Search for a word, or select a page in the navigation.</p>
<p><a href="/docs">All pages of the documentation</a></p>
</article>`
  return frame({ site, title: 'Page not found', content })
}

function card({ name, path, groups }: NavigationSection): string {
  const lists = groups.map(({ name: group, links }) => {
    const items = links.map(
      ({ label, page }) => `<li><a class="card-link" href="${page.path}">${escapeHtml(label)}</a></li>`,
    )
    const title = group === '' ? '' : `<h3>${escapeHtml(group)}</h3>`
    return `<div class="card-group">${title}<ul>${items.join('')}</ul></div>`
  })
  const isWide = groups.length > 1 ? ' wide' : ''
  return `<section class="card${isWide}" id="${path.split('#')[1]}"><h2>${escapeHtml(name)}</h2><div class="card-groups">${lists.join('')}</div></section>`
}

/** The attributes of the search field. The script of the page makes the field visible. */
const searchAttributes = [
  'type="text" id="site-search" role="combobox" autocomplete="off" spellcheck="false" placeholder="Search the documentation"',
  'aria-label="Search the documentation" aria-keyshortcuts="/ Control+K"',
  'aria-expanded="false" aria-controls="site-results" aria-autocomplete="list"',
].join(' ')

const searchHtml = `<search class="search" hidden>
<input ${searchAttributes}>
<kbd class="search-key" aria-hidden="true">/</kbd>
<div class="results" id="site-results" role="listbox" aria-label="Search results" hidden></div>
<p class="unseen" id="site-search-status" role="status"></p>
</search>`

const barHtml = `<header class="bar">
<button type="button" class="tool menu-button" popovertarget="site-navigation">Menu</button>
<a class="brand" href="/docs"><img src="/console/mark.svg" alt="" width="24" height="24"><span>Millwright <span class="brand-part">documentation</span></span></a>
${searchHtml}
<nav class="bar-links" aria-label="Platform">
<a class="bar-link" href="/docs/api">API reference</a>
<a class="bar-link" href="/console/">Console</a>
</nav>
</header>`

function headHtml(title: string): string {
  return `<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} · Millwright documentation</title>
<link rel="icon" href="/console/mark.svg" type="image/svg+xml">
<link rel="stylesheet" href="/console/documentation.css">
<script type="module" src="/console/documentation.js" blocking="render"></script>
</head>`
}

type Frame = { site: DocumentationSite; title: string; content: string; current?: SitePage; contents?: string }

function frame({ site, title, content, current, contents = '' }: Frame): string {
  const more =
    contents === ''
      ? ''
      : '<button type="button" class="tool contents-button" popovertarget="site-contents">On this page</button>'
  return `<!doctype html>
<html lang="en">
${headHtml(title)}
<body>
<a class="skip" href="#site-main">Skip to content</a>
${barHtml}
<div class="columns${contents === '' ? '' : ' with-contents'}">
<nav class="navigation" id="site-navigation" popover aria-label="Documentation">
<ul class="platform-links"><li><a href="/docs/api">API reference</a></li><li><a href="/console/">Console</a></li></ul>
${site.sections.map((section, place) => navigationSection(section, current, place < firstSections)).join('\n')}
</nav>
<main id="site-main" tabindex="-1">
${more}
${content}
<footer class="foot">Millwright ${escapeHtml(productVersion)}</footer>
</main>
${contents}
</div>
</body>
</html>
`
}

function navigationSection(section: NavigationSection, current: SitePage | undefined, isFirst: boolean): string {
  const lists = section.groups.map(({ name, links }) => {
    const items = links.map(({ label, page }) => {
      const mark = page === current ? ' aria-current="page"' : ''
      return `<li><a href="${page.path}"${mark}>${escapeHtml(label)}</a></li>`
    })
    return `${name === '' ? '' : `<p class="group">${escapeHtml(name)}</p>`}<ul>${items.join('')}</ul>`
  })
  const hasCurrent = section.groups.some(({ links }) => links.some(({ page }) => page === current))
  const isOpen = hasCurrent || (current === undefined && isFirst)
  return `<details${isOpen ? ' open' : ''}><summary>${escapeHtml(section.name)}</summary>${lists.join('')}</details>`
}

/** Returns the list of the sections of a page, or an empty text if the page has only one section. */
function contentsOf({ headings }: RenderedPage): string {
  const shown = headings.filter(({ depth }) => depth === 2 || depth === 3)
  if (shown.length < 2) return ''
  const items = shown.map(
    ({ depth, id, text }) => `<li class="depth-${depth}"><a href="#${escapeHtml(id)}">${escapeHtml(text)}</a></li>`,
  )
  return `<nav class="contents" id="site-contents" popover aria-labelledby="site-contents-title"><p class="group" id="site-contents-title">On this page</p><ul>${items.join('')}</ul></nav>`
}

function adjacentPages(site: DocumentationSite, page: SitePage): string {
  const { links } = site
  const place = links.findIndex((link) => link.page === page)
  const linkTo = (to: NavigationLink | undefined, direction: 'Previous' | 'Next') =>
    to === undefined
      ? ''
      : `<a class="adjacent-link ${direction.toLowerCase()}" href="${to.page.path}"><span class="adjacent-direction">${direction}</span> ${escapeHtml(to.label)}</a>`
  const both = `${linkTo(links[place - 1], 'Previous')}${linkTo(links[place + 1], 'Next')}`
  return place < 0 ? '' : `<nav class="adjacent" aria-label="Previous and next page">${both}</nav>`
}
