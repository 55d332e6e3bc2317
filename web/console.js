// @ts-check
import { access } from './access.js'
import { overview, password } from './account.js'
import { send } from './client.js'
import { announce, byId, element, failureNotice } from './elements.js'
import { beginSignIn, finishSignIn, onSignedOutElsewhere, readMetadata, wasSignedIn } from './session.js'

/** @import { Metadata, Session } from './session.js' */
/** @import { Person, Right } from './account.js' */
/** @typedef {{ session: Session, person: Person, rights: Right[] }} Visit */
/** @typedef {{ hash: string, title: string, permission?: string, view: (visit: Visit) => Node[] }} Place */

/** @type {Place[]} */
const places = [
  { hash: '#/', title: 'Overview', view: overview },
  { hash: '#/access', title: 'Users and programs', permission: 'glb_access_manage', view: access },
  { hash: '#/password', title: 'Password', view: password },
]

const loopback = ['localhost', '127.0.0.1', '[::1]']

const main = byId('main')
const bar = byId('bar')

/** Set while somebody is signed in. @type {Visit | undefined} */
let visit
/** Shows what the address asks for. */
let show = () => {}

addEventListener('hashchange', () => show())
byId('skip').addEventListener('click', (event) => {
  // The address is for places of the console, not for this jump.
  event.preventDefault()
  main.focus()
})
await start()
showVersion()

async function start() {
  main.replaceChildren(element('p', { class: 'loading', role: 'status' }, 'Opening the console…'))
  try {
    const metadata = await readMetadata()
    if (!isAtHome(metadata)) return
    if (location.pathname === '/auth/callback') return await welcome(metadata)
    if (wasSignedIn()) return await beginSignIn(metadata, { silent: true })
    showSignedOut(metadata)
  } catch (error) {
    main.replaceChildren(failureNotice(error, { retry: start }))
  }
}

/** @param {Metadata} metadata */
async function welcome(metadata) {
  const session = await finishSignIn(metadata)
  if (session === undefined) return showSignedOut(metadata)
  const leave = (/** @type {string} */ why) => {
    visit = undefined
    showSignedOut(metadata, why)
  }
  session.onEnded = () => leave('Your session has ended.')
  onSignedOutElsewhere(() => leave('You have signed out in another window.'))
  await arrive(session, metadata)
}

/** @param {Session} session @param {Metadata} metadata */
async function arrive(session, metadata) {
  try {
    const [person, rights] = await Promise.all([
      session.call('/oauth/userinfo'),
      session.call('/authorization/v1/rights'),
    ])
    visit = { session, person, rights: rights.data.permissions }
  } catch (error) {
    return main.replaceChildren(failureNotice(error, { retry: () => arrive(session, metadata) }))
  }
  show = () => showPlace(metadata)
  show()
}

/** @param {Metadata} metadata */
function showPlace(metadata) {
  if (visit === undefined) return
  const { person } = visit
  const offered = places.filter((place) => isOffered(place, visit?.rights ?? []))
  const place = places.find(({ hash }) => hash === (location.hash === '' ? '#/' : location.hash))
  bar.replaceChildren(navigation(offered, place), account(person, metadata))
  document.title = `${place?.title ?? 'Not found'} · Millwright`
  if (place === undefined) main.replaceChildren(...nothingHere('There is nothing here'))
  else if (!offered.includes(place)) main.replaceChildren(...nothingHere('This is not open to you', place))
  else main.replaceChildren(...place.view(visit))
  focusHeading()
}

/** @param {Place} place @param {Right[]} rights */
function isOffered({ permission }, rights) {
  return permission === undefined || rights.some((right) => right.permission === permission)
}

/** @param {string} heading @param {Place} [place] */
function nothingHere(heading, place) {
  const why =
    place === undefined
      ? 'The address may be mistyped.'
      : `${place.title} needs the permission ${place.permission}. An administrator of your tenant can give it to you.`
  return [
    element('h1', {}, heading),
    element('p', { class: 'lead' }, why),
    element('p', {}, element('a', { href: '#/' }, 'Go to the overview')),
  ]
}

/** Who cannot see that the page changed hears it. */
function focusHeading() {
  const heading = main.querySelector('h1')
  heading?.setAttribute('tabindex', '-1')
  heading?.focus({ preventScroll: true })
  scrollTo(0, 0)
}

/** @param {Place[]} offered @param {Place | undefined} current */
function navigation(offered, current) {
  return element(
    'nav',
    { 'aria-label': 'Console' },
    ...offered.map((place) =>
      element(
        'a',
        { class: 'place', href: place.hash, 'aria-current': place === current ? 'page' : undefined },
        place.title,
      ),
    ),
  )
}

/** @param {Person} person @param {Metadata} metadata */
function account(person, metadata) {
  const button = element('button', { type: 'button', class: 'on-bar', click: signOut }, 'Sign out')
  return element('div', { class: 'account' }, element('span', { class: 'who' }, person.preferred_username), button)

  async function signOut() {
    button.disabled = true
    try {
      await visit?.session.signOut()
      visit = undefined
      history.replaceState(null, '', '/')
      showSignedOut(metadata, 'You are signed out.')
    } catch (error) {
      button.disabled = false
      main.prepend(failureNotice(error, { retry: signOut }))
    }
  }
}

/** @param {Metadata} metadata @param {string} [why] */
function showSignedOut(metadata, why) {
  show = () => showSignedOut(metadata)
  const wanted = places.find(({ hash }) => hash === location.hash && hash !== '#/')
  bar.replaceChildren()
  document.title = 'Millwright'
  const button = element('button', { type: 'button', class: 'large', click: signIn }, 'Sign in')
  const outcome = element('div')
  main.replaceChildren(
    element('img', { class: 'hero-drawing', src: '/console/gears.svg', alt: '' }),
    element(
      'div',
      { class: 'hero' },
      why !== undefined && element('p', { class: 'notice' }, why),
      element('h1', {}, 'Every device of your plant, found and kept.'),
      element(
        'p',
        { class: 'lead' },
        'Millwright is open industrial asset management: it finds the devices of a plant, keeps what is known about them, and works on them from afar.',
      ),
      wanted !== undefined && element('p', {}, 'Sign in to open ', element('strong', {}, wanted.title), '.'),
      element(
        'p',
        { class: 'actions' },
        button,
        element('a', { class: 'button quiet', href: '/docs' }, 'API reference'),
      ),
      outcome,
    ),
    firstTime(),
  )
  if (why !== undefined) {
    announce(why)
    focusHeading()
  }

  async function signIn() {
    button.disabled = true
    try {
      await beginSignIn(metadata)
    } catch (error) {
      button.disabled = false
      outcome.replaceChildren(failureNotice(error))
    }
  }
}

function firstTime() {
  return element(
    'section',
    { class: 'card first-time', 'aria-labelledby': 'first-time' },
    element('h2', { id: 'first-time' }, 'First time here?'),
    element(
      'p',
      {},
      'The first user is ',
      element('code', {}, 'admin'),
      '. Its password was made at the first start and is in the file ',
      element('code', {}, 'first-run.json'),
      ', in the data folder on the machine that runs Millwright: ',
      element('code', {}, '.millwright'),
      ' where it was started, unless ',
      element('code', {}, 'MILLWRIGHT_HOME'),
      ' says otherwise. Change the password after signing in, then delete the file.',
    ),
  )
}

/**
 * Signing in works at the platform's own address only, and only where the browser offers cryptography. `localhost` is
 * what people type for a platform of this machine: that is put right without a word.
 *
 * @param {Metadata} metadata
 */
function isAtHome({ issuer }) {
  const home = new URL(issuer)
  if (home.origin !== location.origin) {
    if ([home, location].every(({ hostname }) => loopback.includes(hostname)) && home.port === location.port) {
      location.replace(`${home.origin}${location.pathname}${location.search}${location.hash}`)
      return false
    }
    const link = element('a', { href: `${home.origin}/` }, home.origin)
    const hint = '. If that is wrong, set MILLWRIGHT_BASE_URL where it is started.'
    main.replaceChildren(cannotSignIn('This platform calls itself ', link, ', and signing in works only there', hint))
    return false
  }
  if (isSecureContext) return true
  main.replaceChildren(
    cannotSignIn(
      'Browsers offer what signing in needs over HTTPS only. Put a proxy with TLS in front, and set MILLWRIGHT_BASE_URL.',
    ),
  )
  return false
}

/** @param {...(string | Node)} why */
function cannotSignIn(...why) {
  return element(
    'div',
    { class: 'notice notice-alert', role: 'alert' },
    element('h1', { class: 'notice-title' }, 'You cannot sign in at this address'),
    element('p', {}, ...why),
  )
}

async function showVersion() {
  const versions = await send('/version').catch(() => undefined)
  if (versions !== undefined) byId('version').textContent = `Version ${versions.product}`
}
