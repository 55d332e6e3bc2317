/** The limits of sign-in security. */
export const signInLimits = {
  passkeys: 20,
  recoveryCodes: 10,
  /** The time to complete a sign-in after the password, in seconds. */
  pendingSeconds: 600,
  /** Wrong codes in one pending sign-in, after which the user must enter the password again. */
  wrongCodes: 5,
  stepUpMinutes: { minimum: 1, maximum: 720 },
  idleMinutes: { minimum: 5, maximum: 43_200 },
  absoluteHours: { minimum: 1, maximum: 8_760 },
} as const

/** The kinds of dangerous actions for which the sign-in policy can require a recent confirmation of the identity. */
export const stepUpActions = ['credentials', 'remote-access', 'updates', 'access'] as const
export type StepUpAction = (typeof stepUpActions)[number]
