import type { Language } from './sign-in-messages.ts'

/** Texts of the pages for the second factor in every supported language. */

const english = {
  title: 'Confirm your identity',
  as: (name: string) => `Signing in as ${name}`,
  code: 'Code',
  codeHint: 'The 6-digit code of your authenticator app, or a recovery code',
  recoveryCode: 'Recovery code',
  confirm: 'Confirm',
  usePasskey: 'Use passkey',
  separator: 'or',
  passkeyFailed: 'The browser did not return a passkey. Try again, or enter a code.',
  otherAccount: 'Sign in with another account',
  enrol: 'Add a second factor',
  enrolReason: 'The sign-in policy requires a second factor for your account.',
  app: 'Authenticator app',
  scan: 'Scan this QR code with your authenticator app, then enter the 6-digit code that the app shows.',
  qrCode: 'QR code for the authenticator app',
  typeIn: 'If you cannot scan the QR code, enter this key in the app:',
  appCode: 'Code of the app',
  orPasskey: 'Passkey',
  passkeyReason: 'Instead of an app, use the screen lock of this device or a security key.',
  createPasskey: 'Add passkey',
  passkeyName: 'Passkey',
  codes: 'Save your recovery codes',
  codesReason:
    'If you lose your second factor, sign in with one of these codes. Each code works once. They are shown only now, so save or print them.',
  saved: 'I have saved the codes',
  error: 'Error: confirm your identity',
  wrong: 'The code is wrong or was already used. Enter the current code.',
  passkeyRefused: 'The passkey was not accepted. Use a passkey of your account, or enter a code.',
  tooMany: 'Too many wrong codes. Enter your password again.',
  stale: 'This sign-in has expired or was started in another browser. Sign in again.',
  signInAgain: 'Sign in again',
}

export type SecondFactorMessages = typeof english

const german: SecondFactorMessages = {
  title: 'Identität bestätigen',
  as: (name) => `Anmeldung als ${name}`,
  code: 'Code',
  codeHint: 'Der 6-stellige Code Ihrer Authenticator-App oder ein Wiederherstellungscode',
  recoveryCode: 'Wiederherstellungscode',
  confirm: 'Bestätigen',
  usePasskey: 'Passkey verwenden',
  separator: 'oder',
  passkeyFailed: 'Der Browser hat keinen Passkey geliefert. Versuchen Sie es erneut oder geben Sie einen Code ein.',
  otherAccount: 'Mit einem anderen Konto anmelden',
  enrol: 'Zweiten Faktor hinzufügen',
  enrolReason: 'Die Anmelderichtlinie schreibt für Ihr Konto einen zweiten Faktor vor.',
  app: 'Authenticator-App',
  scan: 'Scannen Sie diesen QR-Code mit Ihrer Authenticator-App. Geben Sie dann den 6-stelligen Code ein, den die App anzeigt.',
  qrCode: 'QR-Code für die Authenticator-App',
  typeIn: 'Wenn Sie den QR-Code nicht scannen können, geben Sie diesen Schlüssel in der App ein:',
  appCode: 'Code der App',
  orPasskey: 'Passkey',
  passkeyReason: 'Verwenden Sie statt einer App die Bildschirmsperre dieses Geräts oder einen Sicherheitsschlüssel.',
  createPasskey: 'Passkey hinzufügen',
  passkeyName: 'Passkey',
  codes: 'Wieder\u00adherstellungs\u00adcodes sichern',
  codesReason:
    'Wenn Sie Ihren zweiten Faktor verlieren, melden Sie sich mit einem dieser Codes an. Jeder Code gilt einmal. Die Codes werden nur jetzt angezeigt. Speichern oder drucken Sie sie.',
  saved: 'Ich habe die Codes gesichert',
  error: 'Fehler: Identität bestätigen',
  wrong: 'Der Code ist falsch oder wurde bereits verwendet. Geben Sie den aktuellen Code ein.',
  passkeyRefused: 'Der Passkey wurde nicht akzeptiert. Verwenden Sie einen Passkey Ihres Kontos oder einen Code.',
  tooMany: 'Zu viele falsche Codes. Geben Sie Ihr Passwort erneut ein.',
  stale: 'Diese Anmeldung ist abgelaufen oder wurde in einem anderen Browser begonnen. Melden Sie sich erneut an.',
  signInAgain: 'Erneut anmelden',
}

export const secondFactorMessages: Readonly<Record<Language, SecondFactorMessages>> = { en: english, de: german }
