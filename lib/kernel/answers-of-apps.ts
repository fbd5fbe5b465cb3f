/** The most interim responses (1xx) to one request. An app that sends them without end would keep the service busy. */
export const maxInterim = 100;

/** In bytes. Node's limit of 16 KiB is too small for the cookies and policies of ordinary apps. */
export const maxHeaderBytes = 64 * 1024;
