import type { Language } from '../sign-in/sign-in-messages.ts'
import type { ProviderErrorCode } from './provider-error.ts'

/** Texts of the sign-in with an identity provider. */

const english = {
  separator: 'or',
  signInWith: (title: string) => `Sign in with ${title}`,
  otherTenant: 'Sign in to another tenant',
  tenant: 'Tenant',
  continue: 'Continue',
  continueAt: (title: string) => `Continue to ${title}`,
  leaving: (title: string) => `You continue at ${title}. If the page does not open, use the link.`,
  errorCode: (code: string) => `Error code for your administrator: ${code}`,
  tooMany: 'Too many sign-ins from your network. Wait a minute and try again.',
  unknownProvider: 'This identity provider is not available.',
  errors: {
    outbound_not_allowed: 'The platform is not allowed to connect to the identity provider. Ask your administrator.',
    provider_unreachable: 'The identity provider cannot be reached. Try again later, or sign in with a local account.',
    invalid_provider: 'The identity provider is not configured correctly. Ask your administrator.',
    provider_refused:
      'The identity provider refused the sign-in. Try again. If it fails again, ask your administrator.',
    invalid_response: 'The response of the identity provider is not valid. Try again, or ask your administrator.',
    sign_in_expired: 'This sign-in has expired, was already used or was started in another browser.',
    group_overage: 'You are in too many groups at the identity provider. Ask your administrator.',
    too_many_groups: 'You are in too many groups at the identity provider. Ask your administrator.',
    invalid_subject: 'The identity provider sent no valid account. Ask your administrator.',
    user_disabled: 'This user is disabled. Ask an administrator of your tenant.',
    provider_disabled: 'This identity provider is disabled. Sign in with a local account, or ask your administrator.',
  } satisfies Record<ProviderErrorCode, string> as Readonly<Record<ProviderErrorCode, string>>,
}

export type ProviderMessages = typeof english

const german: ProviderMessages = {
  separator: 'oder',
  signInWith: (title) => `Mit ${title} anmelden`,
  otherTenant: 'Bei einem anderen Mandanten anmelden',
  tenant: 'Mandant',
  continue: 'Weiter',
  continueAt: (title) => `Weiter zu ${title}`,
  leaving: (title) =>
    `Die Anmeldung geht bei ${title} weiter. Wenn sich die Seite nicht öffnet, verwenden Sie den Link.`,
  errorCode: (code) => `Fehlercode für Ihren Administrator: ${code}`,
  tooMany: 'Zu viele Anmeldungen aus Ihrem Netzwerk. Versuchen Sie es in einer Minute erneut.',
  unknownProvider: 'Dieser Identitätsanbieter ist nicht verfügbar.',
  errors: {
    outbound_not_allowed:
      'Die Plattform darf keine Verbindung zum Identitätsanbieter aufbauen. Wenden Sie sich an Ihren Administrator.',
    provider_unreachable:
      'Der Identitätsanbieter ist nicht erreichbar. Versuchen Sie es später erneut oder melden Sie sich mit einem lokalen Konto an.',
    invalid_provider: 'Der Identitätsanbieter ist nicht richtig konfiguriert. Wenden Sie sich an Ihren Administrator.',
    provider_refused:
      'Der Identitätsanbieter hat die Anmeldung abgelehnt. Versuchen Sie es erneut oder wenden Sie sich an Ihren Administrator.',
    invalid_response:
      'Die Antwort des Identitätsanbieters ist ungültig. Versuchen Sie es erneut oder wenden Sie sich an Ihren Administrator.',
    sign_in_expired: 'Diese Anmeldung ist abgelaufen, wurde bereits verwendet oder in einem anderen Browser begonnen.',
    group_overage: 'Sie sind beim Identitätsanbieter in zu vielen Gruppen. Wenden Sie sich an Ihren Administrator.',
    too_many_groups: 'Sie sind beim Identitätsanbieter in zu vielen Gruppen. Wenden Sie sich an Ihren Administrator.',
    invalid_subject: 'Der Identitätsanbieter hat kein gültiges Konto gesendet. Wenden Sie sich an Ihren Administrator.',
    user_disabled: 'Dieser Benutzer ist gesperrt. Wenden Sie sich an einen Administrator Ihres Mandanten.',
    provider_disabled:
      'Dieser Identitätsanbieter ist gesperrt. Melden Sie sich mit einem lokalen Konto an oder wenden Sie sich an Ihren Administrator.',
  },
}

export const providerMessages: Readonly<Record<Language, ProviderMessages>> = { en: english, de: german }
