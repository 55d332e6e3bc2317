import type { Tenant } from '../../../platform/tenants/store.ts'
import { unavailabilityReason } from '../accounts/application.ts'

/** Texts of the sign-in page in every supported language. */

export const languages = ['en', 'de'] as const
export type Language = (typeof languages)[number]

const counted = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`

const english = {
  signIn: 'Sign in',
  to: (program: string) => `to continue to ${program}`,
  programs: {} as Readonly<Record<string, string>>,
  name: 'User name',
  nameHint: 'For example jane or jane@tenant',
  password: 'Password',
  error: 'Error: sign in',
  cannotContinue: 'This sign-in cannot continue',
  startAgain: 'Return to the application and start the sign-in again.',
  cannotContinueTitle: 'Sign-in error',
  staleForm: 'The sign-in form has expired or was not sent by this page. Sign in again.',
  incomplete: 'Enter your user name and password.',
  wrong: 'Wrong user name or password.',
  slowed: (seconds: number) =>
    `Too many failed attempts. Try again in ${seconds < 120 ? counted(seconds, 'second', 'seconds') : counted(Math.ceil(seconds / 60), 'minute', 'minutes')}.`,
  busy: 'The server is overloaded. Try again.',
  disabled:
    'This user is disabled, or the password was changed during the sign-in. Ask an administrator of your tenant.',
  closed: (tenant: Tenant) => `${unavailabilityReason(tenant, 'ui')}.`,
}

export type SignInMessages = typeof english

const german: SignInMessages = {
  signIn: 'Anmelden',
  to: (program) => `und weiter zu: ${program}`,
  programs: { console: 'Konsole', cli: 'Kommandozeile' },
  name: 'Benutzername',
  nameHint: 'Zum Beispiel jane oder jane@mandant',
  password: 'Passwort',
  error: 'Fehler: Anmelden',
  cannotContinue: 'Diese Anmeldung kann nicht fortgesetzt werden',
  startAgain: 'Kehren Sie zur Anwendung zurück und starten Sie die Anmeldung erneut.',
  cannotContinueTitle: 'Fehler bei der Anmeldung',
  staleForm:
    'Das Anmeldeformular ist abgelaufen oder wurde nicht von dieser Seite gesendet. Melden Sie sich erneut an.',
  incomplete: 'Geben Sie Benutzername und Passwort ein.',
  wrong: 'Benutzername oder Passwort falsch.',
  slowed: (seconds) =>
    `Zu viele Fehlversuche. Versuchen Sie es in ${seconds < 120 ? counted(seconds, 'Sekunde', 'Sekunden') : counted(Math.ceil(seconds / 60), 'Minute', 'Minuten')} erneut.`,
  busy: 'Der Server ist überlastet. Versuchen Sie es erneut.',
  disabled:
    'Dieser Benutzer ist gesperrt, oder das Passwort wurde während der Anmeldung geändert. Wenden Sie sich an einen Administrator Ihres Mandanten.',
  closed: ({ name, state }) =>
    state === 'suspended'
      ? `Der Mandant ${name} ist gesperrt.`
      : `Die Anwendung ui ist für den Mandanten ${name} nicht bereitgestellt. Bereitstellen mit: millwright tenants provision ${name} ui`,
}

export const signInMessages: Readonly<Record<Language, SignInMessages>> = { en: english, de: german }

/** At most this many characters of the `Accept-Language` header are read. The headers of browsers are shorter. */
const longestHeader = 256

/** Returns the supported language with the highest weight in `Accept-Language` (RFC 9110 §12.5.4), or English. */
export function languageFor(acceptLanguage: string | undefined): Language {
  const preferred = (acceptLanguage ?? '')
    .slice(0, longestHeader)
    .split(',')
    .map((range) => {
      const [tag = '', ...parameters] = range.trim().toLowerCase().split(';')
      const weight = parameters
        .map((each) => /^\s*q=([0-9.]+)\s*$/.exec(each)?.[1])
        .find((language) => language !== undefined)
      return { language: tag.split('-')[0], weight: weight === undefined ? 1 : Number(weight) }
    })
    .filter(({ weight }) => weight > 0)
    .toSorted((one, other) => other.weight - one.weight)
  const supported = preferred.flatMap(({ language }) => languages.filter((each) => each === language))
  return supported[0] ?? 'en'
}
