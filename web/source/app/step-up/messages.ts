import { messages } from '../language/language.ts'

/** The texts of the dialogs that confirm the identity or the activity of the user. */
export const stepUpMessages = messages({
  en: {
    title: 'Confirm your identity',
    lead: 'To continue with this action, confirm your identity.',
    password: 'Password',
    code: 'Code',
    codeFromApp: 'Enter the code from your authenticator app, or a recovery code.',
    recoveryCode: 'Enter a recovery code.',
    enterPassword: 'Enter your password',
    wrongPassword: 'The password is wrong.',
    wrongCode:
      'The code is wrong or was already used. Enter the current code of your authenticator app, or an unused recovery code.',
    enterCode: 'Enter a code',
    confirm: 'Confirm',
    passkey: 'Use passkey',
    passkeyWaits: 'Follow the instructions of your browser or security key.',
    passkeyCancelled: 'The passkey was not used. Try again, or use another method.',
    provider: 'Sign in again',
    providerLead: 'You sign in with an identity provider. Sign in there again, in a new window.',
    providerWaits: 'Continue in the new window. The action continues here after the sign-in.',
    noMethod: 'Your account has no method to confirm your identity here. Sign out and sign in again.',
    idleTitle: 'Are you still there?',
    idleLead: (seconds: string) => `You will be signed out in ${seconds} seconds, because there was no activity.`,
    stay: 'Stay signed in',
  },
  de: {
    title: 'Identität bestätigen',
    lead: 'Bestätigen Sie Ihre Identität, um diese Aktion fortzusetzen.',
    password: 'Passwort',
    code: 'Code',
    codeFromApp: 'Geben Sie den Code aus Ihrer Authenticator-App oder einen Wiederherstellungscode ein.',
    recoveryCode: 'Geben Sie einen Wiederherstellungscode ein.',
    enterPassword: 'Passwort eingeben',
    wrongPassword: 'Das Passwort ist falsch.',
    wrongCode:
      'Der Code ist falsch oder wurde bereits verwendet. Geben Sie den aktuellen Code Ihrer Authenticator-App oder einen unbenutzten Wiederherstellungscode ein.',
    enterCode: 'Code eingeben',
    confirm: 'Bestätigen',
    passkey: 'Passkey verwenden',
    passkeyWaits: 'Folgen Sie den Anweisungen des Browsers oder des Sicherheitsschlüssels.',
    passkeyCancelled: 'Der Passkey wurde nicht verwendet. Versuchen Sie es erneut oder wählen Sie einen anderen Weg.',
    provider: 'Erneut anmelden',
    providerLead:
      'Sie melden sich über einen Identitätsanbieter an. In einem neuen Fenster melden Sie sich dort erneut an.',
    providerWaits: 'Fahren Sie im neuen Fenster fort. Nach der Anmeldung wird die Aktion hier fortgesetzt.',
    noMethod:
      'Für Ihr Konto gibt es hier kein Verfahren zur Bestätigung der Identität. Melden Sie sich ab und wieder an.',
    idleTitle: 'Sind Sie noch da?',
    idleLead: (seconds: string) => `Sie werden in ${seconds} Sekunden abgemeldet, weil keine Aktivität erkannt wurde.`,
    stay: 'Angemeldet bleiben',
  },
})
