// @ts-check
/** Elements are made here, never from text that holds markup: what people typed cannot become a script. */

/** @typedef {string | Node | undefined | null | false} Child */
/** @typedef {Record<string, string | number | boolean | undefined | ((event: Event) => void)>} Attributes */

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} attributes functions are listeners, by the name of their event
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(name, value)
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? '' : String(value))
  }
  made.append(...children.filter(isShown))
  return made
}

/** @param {Child} child @returns {child is string | Node} */
function isShown(child) {
  return child !== undefined && child !== null && child !== false
}

/** @param {string} id */
export function byId(id) {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`The page has no element ${id}`)
  return found
}

/** Says something to people who do not see it. @param {string} text */
export function announce(text) {
  byId('announcement').textContent = text
}

/** @param {string} heading @param {...Child} content */
export function section(heading, ...content) {
  const title = element('h2', {}, heading)
  title.id = `heading-${heading.toLowerCase().replace(/[^a-z]+/g, '-')}`
  return element('section', { class: 'card', 'aria-labelledby': title.id }, title, ...content)
}

const dateTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' })

/** @param {string} timestamp */
export function time(timestamp) {
  return element('time', { datetime: timestamp, title: timestamp }, dateTime.format(new Date(timestamp)))
}

/**
 * What went wrong in plain words, its code, and a way on.
 *
 * @param {unknown} error
 * @param {{ retry?: () => void, label?: string }} [way]
 */
export function failureNotice(error, { retry, label = 'Try again' } = {}) {
  const { title, detail, code, errors, traceId } = describe(error)
  return element(
    'div',
    { class: 'notice notice-alert', role: 'alert' },
    element('p', { class: 'notice-title' }, title),
    detail !== '' && detail !== title && element('p', {}, detail.endsWith('.') ? detail : `${detail}.`),
    errors.length > 0 && element('ul', {}, ...errors.map((each) => element('li', {}, each))),
    element(
      'p',
      { class: 'notice-code' },
      'Code ',
      code === 'no_answer' ? element('code', {}, code) : problemLink(code),
      traceId !== undefined && ', trace ',
      traceId !== undefined && element('code', {}, traceId),
    ),
    retry !== undefined && element('button', { type: 'button', class: 'quiet', click: retry }, label),
  )
}

/** @param {string} code */
function problemLink(code) {
  return element('a', { href: `/docs/problems#${code}` }, element('code', {}, code))
}

/** @param {unknown} error @returns {{ title: string, detail: string, code: string, errors: string[], traceId?: string | undefined }} */
function describe(error) {
  if (error instanceof Error && 'code' in error) {
    const { title = error.message, code, errors = [], traceId } = /** @type {import('./client.js').Failure} */ (error)
    return { title, detail: error.message, code, errors: errors.map((each) => each.detail), traceId }
  }
  return { title: 'The console has a fault', detail: String(error), code: 'internal', errors: [] }
}

/**
 * Shows that something is on its way, then it, or what went wrong with a way to try again.
 *
 * @param {string} waiting
 * @param {() => Promise<Node>} load
 */
export function eventually(waiting, load) {
  const place = element('div', { class: 'eventually' })
  const attempt = async () => {
    place.replaceChildren(element('p', { class: 'loading', role: 'status' }, waiting))
    try {
      place.replaceChildren(await load())
    } catch (error) {
      place.replaceChildren(failureNotice(error, { retry: attempt }))
    }
  }
  attempt()
  return place
}
