/** An app could send interim answers, such as 102, faster than they are read, and keep the service busy. */
export const maxInterim = 100;

/** The size of an answer's headers in bytes: cookies and policies of ordinary apps pass Node's own limit of 16 KiB. */
export const maxHeaderBytes = 64 * 1024;
