// @ts-check
import { element, failureNotice } from './elements.js'

/** Something is wrong with one field, and the form says so there. */
class Complaint extends Error {
  /** @param {Field} field @param {string} message */
  constructor(field, message) {
    super(message)
    this.field = field
  }
}

/**
 * @typedef {{
 *   name: string,
 *   input: HTMLInputElement | HTMLSelectElement,
 *   row: HTMLElement,
 *   say: (message: string | undefined) => void,
 *   complaint: (error: Error) => Complaint,
 *   needed: string,
 * }} Field
 */

/**
 * @template {HTMLInputElement | HTMLSelectElement} Input
 * @param {{ name: string, label: string, input: Input, hint?: string | undefined, needed: string }} options
 * @returns {Field & { input: Input }}
 */
function field({ name, label, input, hint, needed }) {
  const [errorId, hintId] = [`${name}-error`, `${name}-hint`]
  const error = element('p', { class: 'field-error', id: errorId, hidden: true })
  input.id = name
  if (hint !== undefined) input.setAttribute('aria-describedby', hintId)
  const made = {
    name,
    input,
    needed,
    row: element(
      'div',
      { class: 'field' },
      element('label', { for: name }, label),
      input,
      hint !== undefined && element('p', { class: 'hint', id: hintId }, hint),
      error,
    ),
    /** @param {string | undefined} message */
    say(message) {
      error.textContent = message ?? ''
      error.hidden = message === undefined
      input.setAttribute('aria-invalid', String(message !== undefined))
      const described = [...(hint === undefined ? [] : [hintId]), ...(message === undefined ? [] : [errorId])]
      if (described.length > 0) input.setAttribute('aria-describedby', described.join(' '))
      else input.removeAttribute('aria-describedby')
    },
    /** @param {Error} cause @returns {Complaint} */
    complaint: (cause) => new Complaint(made, cause.message),
  }
  return made
}

/** @param {{ name: string, label: string, autocomplete: 'current-password' | 'new-password', hint?: string }} options */
export function passwordField({ name, label, autocomplete, hint }) {
  const input = element('input', { type: 'password', autocomplete, maxlength: 256, required: true })
  return field({ name, label, input, hint, needed: `Enter the ${label.toLowerCase()}.` })
}

/** @param {{ name: string, label: string, hint?: string, needed: string }} options */
export function textField({ name, label, hint, needed }) {
  const input = element('input', {
    type: 'text',
    autocomplete: 'off',
    maxlength: 256,
    required: true,
    spellcheck: 'false',
  })
  return field({ name, label, input, hint, needed })
}

/** @param {{ name: string, label: string, hint?: string, choices: { value: string, label: string }[] }} options */
export function choiceField({ name, label, hint, choices }) {
  const input = element(
    'select',
    {},
    ...choices.map((choice) => element('option', { value: choice.value }, choice.label)),
  )
  return field({ name, label, input, hint, needed: '' })
}

/**
 * @typedef {{
 *   fields: Field[],
 *   extra?: Node[],
 *   action: string,
 *   submit: (values: Record<string, string>) => Promise<Node>,
 * }} FormOptions
 */

/** A form that says what is wrong where it is wrong, and shows what came of it. @param {FormOptions} options */
export function form({ fields, extra = [], action, submit }) {
  const button = element('button', { type: 'submit' }, action)
  const outcome = element('div', { class: 'outcome' })
  const made = element(
    'form',
    { novalidate: true, submit: handle },
    ...fields.map(({ row }) => row),
    ...extra,
    button,
    outcome,
  )
  return made

  /** @param {Event} event */
  async function handle(event) {
    event.preventDefault()
    if (button.disabled) return
    outcome.replaceChildren()
    if (!areFilled(fields)) return
    button.disabled = true
    made.setAttribute('aria-busy', 'true')
    try {
      const values = Object.fromEntries(fields.map(({ name, input }) => [name, input.value]))
      outcome.replaceChildren(await submit(values))
      made.reset()
    } catch (error) {
      report(error)
    } finally {
      button.disabled = false
      made.removeAttribute('aria-busy')
    }
  }

  /** @param {unknown} error */
  function report(error) {
    if (!(error instanceof Complaint)) return outcome.replaceChildren(failureNotice(error))
    error.field.say(`${error.message}.`)
    error.field.input.focus()
  }
}

/** @param {Field[]} fields */
function areFilled(fields) {
  const empty = fields.filter(({ input, needed }) => needed !== '' && input.value.trim() === '')
  for (const each of fields) each.say(empty.includes(each) ? each.needed : undefined)
  empty[0]?.input.focus()
  return empty.length === 0
}
