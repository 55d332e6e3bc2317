// @ts-check
import { Failure } from './client.js'
import { announce, element, eventually, failureNotice, section, time } from './elements.js'
import { choiceField, form, textField } from './form.js'

/** @import { ServerUser, User } from '@millwright/api/identity.ts' */
/** @import { Session } from './session.js' */
/** @typedef {{ name: string, title: string }} Role */
/** @typedef {ServerUser & { clientSecret: string, tokenUrl: string }} MadeServerUser */
/** @typedef {{ tenant_name: string }} Person */

const pageSize = 50
const noRole = ''

/** People and programs of the tenant; for who may manage access. @param {{ session: Session, person: Person }} given */
export function access({ session, person }) {
  const made = element('div', { class: 'made' })
  const programs = element('div')
  const listPrograms = () => {
    programs.replaceChildren(
      list(session, {
        path: '/iam/v1/server-users',
        what: 'server users',
        empty: 'There are none yet. Create one for each program that uses the API.',
        row: serverUserRow,
      }),
    )
  }
  listPrograms()
  return [
    element('h1', {}, 'Users and programs'),
    section(
      'Create a server user',
      element('p', { class: 'lead' }, 'A server user is how a program signs in. Give each program its own.'),
      eventually('Reading the roles…', async () => {
        const { data } = await session.call('/authorization/v1/roles?limit=100')
        return creation(session, { roles: data, made, person, onMade: listPrograms })
      }),
      made,
    ),
    section('Server users', programs),
    section(
      'Users',
      list(session, { path: '/iam/v1/users', what: 'users', empty: 'There are none yet.', row: userRow }),
    ),
  ]
}

/**
 * @template Item
 * @param {Session} session
 * @param {{ path: string, what: string, empty: string, row: (item: Item) => Node }} options
 */
function list(session, { path, what, empty, row }) {
  const rows = element('ul', { class: 'rows' })
  const more = element('div')
  const load = async () => {
    const { data, meta } = await session.call(`${path}?limit=${pageSize}&offset=${rows.childElementCount}`)
    rows.append(...data.map(row))
    const left = meta.totalElements - rows.childElementCount
    more.replaceChildren()
    if (left > 0 && data.length > 0) more.append(moreButton(left))
  }
  /** @param {number} left */
  const moreButton = (left) =>
    element(
      'button',
      { type: 'button', class: 'quiet', click: () => more.replaceChildren(next()) },
      `Show more (${left})`,
    )
  const next = () =>
    eventually(`Reading more ${what}…`, async () => {
      await load()
      return element('span')
    })
  return eventually(`Reading the ${what}…`, async () => {
    rows.replaceChildren()
    await load()
    if (rows.childElementCount === 0) return element('p', { class: 'empty' }, empty)
    return element('div', {}, rows, more)
  })
}

/** @param {User} user */
function userRow({ name, displayName, disabled, lastSignInTimestamp }) {
  return element(
    'li',
    {},
    element('span', { class: 'row-name' }, displayName === '' ? name : displayName),
    element('code', {}, name),
    element(
      'span',
      { class: 'row-time' },
      ...(lastSignInTimestamp === null ? ['never signed in'] : ['signed in ', time(lastSignInTimestamp)]),
    ),
    state(disabled),
  )
}

/** @param {ServerUser} serverUser */
function serverUserRow({ name, clientId, disabled, secretCreatedTimestamp }) {
  return element(
    'li',
    {},
    element('span', { class: 'row-name' }, name),
    element('code', {}, clientId),
    element('span', { class: 'row-time' }, 'secret of ', time(secretCreatedTimestamp)),
    state(disabled),
  )
}

/** @param {boolean} disabled */
function state(disabled) {
  return element('span', { class: disabled ? 'state state-off' : 'state' }, disabled ? 'disabled' : 'active')
}

/**
 * @param {Session} session
 * @param {{ roles: Role[], made: HTMLElement, person: Person, onMade: () => void }} options
 */
function creation(session, { roles, made, person, onMade }) {
  const name = textField({
    name: 'server-user-name',
    label: 'Name',
    hint: 'What it is for, such as historian or line-7-import.',
    needed: 'Enter a name.',
  })
  const role = choiceField({
    name: 'server-user-role',
    label: 'Role in the whole tenant',
    choices: [
      ...roles.map((each) => ({
        value: each.name,
        label: each.title === '' ? each.name : `${each.name}: ${each.title}`,
      })),
      { value: noRole, label: 'none yet: it may do nothing until it gets one' },
    ],
  })
  role.input.value = roles.some((each) => each.name === 'viewer') ? 'viewer' : noRole
  return form({
    fields: [name, role],
    action: 'Create server user',
    async submit() {
      made.replaceChildren()
      const wanted = { name: name.input.value.trim(), role: role.input.value }
      const { serverUser, refused } = await create(session, wanted).catch((error) => {
        if (error instanceof Failure && error.code === 'already_exists') throw name.complaint(error)
        throw error
      })
      onMade()
      const shown = secretPanel(serverUser, { person, onDone: () => made.replaceChildren() })
      made.replaceChildren(shown.panel)
      shown.title.focus()
      announce(`The server user ${serverUser.name} is there. Its secret is shown once.`)
      return refused === undefined ? element('span') : failureNotice(refused)
    },
  })
}

/**
 * Two calls: when the second is refused the server user is there all the same, and its secret must be shown.
 *
 * @param {Session} session
 * @param {{ name: string, role: string }} wanted
 * @returns {Promise<{ serverUser: MadeServerUser, refused?: unknown }>}
 */
async function create(session, { name, role }) {
  const { data: serverUser } = await session.call('/iam/v1/server-users', { method: 'POST', data: { name } })
  if (role === noRole) return { serverUser }
  const grant = { method: 'POST', data: { principal: serverUser.id, role } }
  return session.call('/authorization/v1/grants', grant).then(
    () => ({ serverUser }),
    (refused) => ({ serverUser, refused }),
  )
}

/** @param {MadeServerUser} serverUser @param {{ person: Person, onDone: () => void }} options */
function secretPanel(serverUser, { person, onDone }) {
  const { name, clientId, clientSecret, tokenUrl } = serverUser
  const title = element('h3', { tabindex: -1 }, `${name} is there`)
  const panel = element(
    'div',
    { class: 'panel', role: 'group', 'aria-label': `Credentials of ${name}` },
    title,
    element('p', {}, 'Keep the secret now: it is shown this once.'),
    element(
      'dl',
      { class: 'facts' },
      ...copyable('Client id', clientId),
      ...copyable('Client secret', clientSecret),
      ...copyable('Token URL', tokenUrl),
    ),
    element(
      'p',
      { class: 'actions' },
      downloadLink(serverUser, person),
      element('button', { type: 'button', class: 'quiet', click: onDone }, 'Done'),
    ),
  )
  return { panel, title }
}

/** @param {string} name @param {string} value */
function copyable(name, value) {
  const copy = element(
    'button',
    {
      type: 'button',
      class: 'quiet small',
      'aria-label': `Copy the ${name.toLowerCase()}`,
      click: async () => {
        try {
          await navigator.clipboard.writeText(value)
          copy.textContent = 'Copied'
          announce(`The ${name.toLowerCase()} is copied.`)
        } catch {
          announce('The browser does not allow copying. Select the text instead.')
        }
      },
    },
    'Copy',
  )
  return [element('dt', {}, name), element('dd', {}, element('code', {}, value), ' ', copy)]
}

/** @param {MadeServerUser} serverUser @param {Person} person */
function downloadLink({ name, clientId, clientSecret, tokenUrl }, { tenant_name: tenant }) {
  const credentials = { baseUrl: new URL(tokenUrl).origin, tokenUrl, tenant, name, clientId, clientSecret }
  const file = new Blob([`${JSON.stringify(credentials, undefined, 2)}\n`], { type: 'application/json' })
  const fileName = `millwright-${name.replace(/[^\w.-]+/g, '-')}.json`
  return element('a', { class: 'button', href: URL.createObjectURL(file), download: fileName }, 'Download credentials')
}
