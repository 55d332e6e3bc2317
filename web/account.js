// @ts-check
import { Failure } from './client.js'
import { announce, element, eventually, section } from './elements.js'
import { form, passwordField } from './form.js'

/** @import { Session } from './session.js' */
/** @typedef {{ permission: string, accessGroups: 'all' | string[] }} Right */
/** @typedef {{ name: string, preferred_username: string, tenant_name: string, roles: string[] }} Person */

/** Who somebody is and what they may do. @param {{ session: Session, person: Person, rights: Right[] }} given */
export function overview({ session, person, rights }) {
  return [
    element('h1', {}, person.name),
    section(
      'Signed in',
      element(
        'dl',
        { class: 'facts' },
        ...fact('Name', person.preferred_username),
        ...fact('Tenant', person.tenant_name),
        ...fact('Roles', person.roles.length === 0 ? 'none' : chips(person.roles)),
      ),
    ),
    section(
      'What you may do',
      eventually('Reading your rights…', () => rightsInWords(session, rights)),
    ),
  ]
}

/** @param {string} name @param {string | Node} value */
function fact(name, value) {
  return [element('dt', {}, name), element('dd', {}, value)]
}

/** @param {string[]} names */
function chips(names) {
  return element('ul', { class: 'chips' }, ...names.map((name) => element('li', {}, name)))
}

/** @param {Session} session @param {Right[]} rights */
async function rightsInWords(session, rights) {
  if (rights.length === 0) {
    return element(
      'p',
      { class: 'empty' },
      'Nothing yet: you hold no role. An administrator of your tenant can give you one.',
    )
  }
  const [permissions, groups] = await Promise.all([
    session.call('/authorization/v1/permissions'),
    rights.some(({ accessGroups }) => accessGroups !== 'all') ? groupNames(session) : new Map(),
  ])
  /** @type {Map<string, string>} */
  const titles = new Map(permissions.data.map((/** @type {any} */ { name, title }) => [name, title]))
  const items = rights.map(({ permission, accessGroups }) =>
    element(
      'li',
      {},
      element('span', { title: permission }, titles.get(permission) ?? permission),
      accessGroups !== 'all' && element('span', { class: 'where' }, `in ${whereabouts(accessGroups, groups)}`),
    ),
  )
  return element('ul', { class: 'rights' }, ...items)
}

/** @param {Session} session @returns {Promise<Map<string, string>>} */
async function groupNames(session) {
  const { data } = await session.call('/authorization/v1/access-groups?limit=100')
  return new Map(data.map((/** @type {any} */ { id, name }) => [id, name]))
}

const mostNamed = 5

/** @param {string[]} ids @param {Map<string, string>} names */
function whereabouts(ids, names) {
  const named = ids.slice(0, mostNamed).map((id) => names.get(id) ?? id)
  return ids.length > mostNamed ? `${named.join(', ')} and ${ids.length - mostNamed} more` : named.join(', ')
}

/** The form that changes one's own password. @param {{ session: Session, person: Person }} given */
export function password({ session, person }) {
  const current = passwordField({
    name: 'currentPassword',
    label: 'Current password',
    autocomplete: 'current-password',
  })
  const next = passwordField({
    name: 'newPassword',
    label: 'New password',
    autocomplete: 'new-password',
    hint: 'At least 12 characters; longer is better than stranger.',
  })
  const show = element('input', {
    type: 'checkbox',
    id: 'show-passwords',
    change: () => {
      for (const { input } of [current, next]) input.type = show.checked ? 'text' : 'password'
    },
  })
  const made = form({
    fields: [current, next],
    extra: [
      element('label', { class: 'check', for: 'show-passwords' }, show, 'Show what I type'),
      // Password managers look for the name beside a password.
      element('input', {
        class: 'unseen',
        type: 'text',
        autocomplete: 'username',
        value: person.preferred_username,
        tabindex: -1,
        'aria-hidden': 'true',
        readonly: true,
      }),
    ],
    action: 'Change password',
    async submit(values) {
      await session.call('/iam/v1/password', { method: 'POST', data: values }).catch((error) => {
        if (error instanceof Failure && error.code === 'wrong_password') throw current.complaint(error)
        if (error instanceof Failure && error.code === 'weak_password') throw next.complaint(error)
        throw error
      })
      const done = 'Your password is changed. Everywhere else you are signed out.'
      announce(done)
      return element('p', { class: 'notice notice-done' }, done)
    },
  })
  return [element('h1', {}, 'Password'), section('Change your password', made)]
}
