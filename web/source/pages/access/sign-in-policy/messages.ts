import { messages } from '../../../app/language/language.ts'

export const policyMessages = messages({
  en: {
    secondFactorTitle: 'Second factor',
    secondFactor: 'Required for',
    secondFactorHint:
      'The policy applies to local accounts. Affected users without a second factor must sign in again and add one. Identity providers have their own rules.',
    nobody: 'No user',
    administrators: 'Administrators',
    everyone: 'All users',
    needsOwn: 'First add a second factor to your own account, so that you are not locked out.',
    toSecurity: 'Security of my account',
    stepUpTitle: 'Confirmation of dangerous actions',
    stepUpHint:
      'Before these actions, users must have confirmed their identity recently: with a code, a passkey, the password, or a new sign-in at the identity provider.',
    credentials: 'Credentials: create, change, assign and delete',
    remoteAccess:
      'Remote access: switch on, open, extend and approve sessions, play recordings, change policies and host keys',
    updates: 'Updates: start, approve, resume and retry campaigns, change trust anchors and settings',
    access:
      'Access: change users, service accounts, roles, access groups, assignments, identity providers and this policy',
    stepUpMinutes: 'A confirmation is valid for (minutes)',
    sessionTitle: 'Sessions',
    sessionHint: 'Shorter limits apply to existing sessions immediately.',
    idleMinutes: 'Sign out after inactivity (minutes)',
    absoluteHours: 'Sign out at the latest after (hours)',
    range: (lowest: string, highest: string) => `From ${lowest} to ${highest}`,
    equals: (duration: string) => `Equals ${duration}`,
    save: 'Save policy',
    saved: 'Sign-in policy saved',
  },
  de: {
    secondFactorTitle: 'Zweiter Faktor',
    secondFactor: 'Vorgeschrieben für',
    secondFactorHint:
      'Die Richtlinie gilt für lokale Konten. Betroffene Benutzer ohne zweiten Faktor müssen sich erneut anmelden und einen hinzufügen. Identitätsanbieter haben eigene Regeln.',
    nobody: 'Keinen Benutzer',
    administrators: 'Administratoren',
    everyone: 'Alle Benutzer',
    needsOwn: 'Fügen Sie zuerst Ihrem eigenen Konto einen zweiten Faktor hinzu, damit Sie sich nicht aussperren.',
    toSecurity: 'Sicherheit Ihres Kontos',
    stepUpTitle: 'Bestätigung gefährlicher Aktionen',
    stepUpHint:
      'Vor diesen Aktionen müssen Benutzer ihre Identität kürzlich bestätigt haben: mit Code, Passkey, Passwort oder einer neuen Anmeldung beim Identitätsanbieter.',
    credentials: 'Zugangsdaten: anlegen, ändern, zuweisen und löschen',
    remoteAccess:
      'Fernzugriff: einschalten, Sitzungen öffnen, verlängern und freigeben, Aufzeichnungen abspielen, Richtlinien und Host-Schlüssel ändern',
    updates:
      'Updates: Kampagnen starten, freigeben, fortsetzen und wiederholen, Vertrauensanker und Einstellungen ändern',
    access:
      'Zugriff: Benutzer, Dienstkonten, Rollen, Zugriffsgruppen, Zuweisungen, Identitätsanbieter und diese Richtlinie ändern',
    stepUpMinutes: 'Gültigkeit einer Bestätigung (Minuten)',
    sessionTitle: 'Sitzungen',
    sessionHint: 'Kürzere Grenzen gelten sofort auch für bestehende Sitzungen.',
    idleMinutes: 'Abmelden bei Inaktivität nach (Minuten)',
    absoluteHours: 'Abmelden spätestens nach (Stunden)',
    range: (lowest: string, highest: string) => `Von ${lowest} bis ${highest}`,
    equals: (duration: string) => `Dauer: ${duration}`,
    save: 'Richtlinie speichern',
    saved: 'Anmelderichtlinie gespeichert',
  },
})
